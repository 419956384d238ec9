// `Sessions` with a real spawner, in this process: one loop that runs while a test waits, and a
// clock that the test moves. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/service/sessions.h"
#include "tests/support/temp_dir.h"

namespace sessions_test {

// What every case that makes a jail needs of this host.
void require_jails();

// What one execution told.
struct Told {
  std::string refused;  // of the request itself; then nothing else is told
  runner::Refusal::Kind kind{};
  // One word an event, pieces of one stream as one: "begin out result err outcome".
  std::string order;
  std::uint64_t number = 0;
  std::string out;
  std::string err;
  std::vector<runner::Rich> results;
  std::vector<runner::Raised> raised;
  runner::Finished finished;
  bool is_over = false;
  std::unique_ptr<runner::ExecutionHandle> handle;

  [[nodiscard]] const char* word() const { return runner::word_text(finished.outcome.word); }
  [[nodiscard]] bool kept() const { return finished.outcome.state_preserved; }
  // The text/plain of the last result.
  [[nodiscard]] std::string value() const;
  [[nodiscard]] const runner::File* file(const std::string& name) const;
  [[nodiscard]] std::string skipped(const std::string& name) const;  // its reason
};

struct Code {
  std::string text;
  std::chrono::milliseconds timeout{0};  // 0: the policy's
  std::optional<std::string> input = {};
};

class SessionsUnderTest {
 public:
  // `policy`: lines of an own policy file that extends standard; empty: `standard` itself.
  explicit SessionsUnderTest(const std::string& policy = kOwn, std::size_t warm = 1,
                             std::size_t payloads_each = 5000);
  ~SessionsUnderTest();
  SessionsUnderTest(const SessionsUnderTest&) = delete;
  SessionsUnderTest& operator=(const SessionsUnderTest&) = delete;
  SessionsUnderTest(SessionsUnderTest&&) = delete;
  SessionsUnderTest& operator=(SessionsUnderTest&&) = delete;

  static constexpr const char* kOwn = "\n";

  // Runs the loop until it holds; fails the test after `patience`.
  void until(const std::function<bool()>& holds,
             std::chrono::milliseconds patience = std::chrono::seconds(30));
  // Runs the loop for so long.
  void pass(std::chrono::milliseconds time);
  void move_clock(std::chrono::seconds by);  // time passes, and it sweeps
  void set_clock(std::chrono::seconds by);   // somebody sets the wall clock, and it sweeps

  runner::Answer<runner::Container> create(const runner::ContainerWish& wish = {},
                                           const runner::Tenant& tenant = "");
  // The id of a new container.
  std::string open();
  // Starts it; what it tells is filled in while the loop runs.
  std::shared_ptr<Told> begin(const std::string& id, const Code& code,
                              const runner::Tenant& tenant = "");
  Told run(const std::string& id, const Code& code);
  Told run(const std::string& id, const std::string& text) { return run(id, Code{text}); }
  runner::Answer<runner::File> put(const std::string& id, const std::string& name,
                                   const std::string& content, const runner::Tenant& tenant = "");
  std::vector<runner::File> files(const std::string& id);
  std::string content(const std::string& id, const std::string& file_id);

  boost::asio::io_context loop{1};
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
  std::unique_ptr<runner::Sessions> service;

 private:
  support::TempDir folder_;
};

// Pids of descendants of ours whose command line has `part`, the oldest first.
std::vector<pid_t> descendants(const std::string& part);
bool in_our_pid_namespace(pid_t pid);

bool contains(const std::string& text, const std::string& part);

}  // namespace sessions_test
