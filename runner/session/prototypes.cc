#include "runner/session/prototypes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <utility>

#include "runner/session/content.h"
#include "runner/session/job.h"
#include "runner/text.h"

namespace runner {
namespace {

constexpr jail::Bytes kMostFile = jail::mib(16);
// From fd 4 on, as jail/client.h says.
constexpr const char* kProgram = "/proc/self/fd/4";
constexpr const char* kLibrary = "/proc/self/fd/5";

jail::Command command_of(const policies::Policy& policy) {
  const policies::Interpreter& interpreter = policy.interpreters.at("python");
  jail::Command command;
  command.argv = interpreter.command;
  std::string modules;
  for (const std::string& name : interpreter.preload)
    modules += (modules.empty() ? "" : ",") + name;
  for (const std::string& word : {std::string(kProgram), std::string("3"), "--preload=" + modules,
                                  std::string("--join=") + kLibrary})
    command.argv.push_back(word);
  command.env = environment_of(policy, &interpreter, {});
  return command;
}

}  // namespace

PrototypeKeeper::PrototypeKeeper(boost::asio::io_context& io, Launcher& launcher, const Home& home,
                                 const policies::Policy& policy,
                                 std::function<void(PrototypeKeeper&)> changed)
    : io_(io),
      launcher_(launcher),
      home_(home),
      policy_(policy),
      changed_(std::move(changed)),
      timer_(io) {}

void PrototypeKeeper::restart() {
  ready_ = up_ = false;
  if (const auto started = start(); !started) {
    trouble_ = started.error().text;
    start_again();
  }
}

Result<void> PrototypeKeeper::start() {
  timer_.cancel();  // it may have died just before its spawner did
  std::vector<jail::Fd> files;
  for (const std::string& path :
       {home_.share + "/interpreters/prototype.zip", home_.join_library}) {
    auto file = content_of_file(path, kMostFile);
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  const auto command = jail::make_command(command_of(policy_));
  if (!command) return fail(ErrorKind::kSetup, jail::describe(command.error(), nullptr));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorKind::kHost,
                "cannot make a pipe: " + jail::errno_name(errno) + "; raise ulimit -n");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  news_ = std::make_unique<boost::asio::posix::stream_descriptor>(io_, ends[0]);
  const jail::Fd write(ends[1]);
  const jail::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto id = launcher_.start_prototype(*command, {null, write, null}, files);
  if (!id) return tl::unexpected(id.error());
  id_ = *id;
  ready_ = false;
  up_ = true;
  line_.clear();
  wait();
  return {};
}

void PrototypeKeeper::wait() {
  news_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                      if (!error && !alive.expired()) read_some();
                    });
}

// One line of JSON; whatever else its libraries print is not ours.
void PrototypeKeeper::read_some() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(news_->native_handle(), buffer.data(), buffer.size());
  if (n == 0) return;
  if (n > 0) line_.append(buffer.data(), static_cast<std::size_t>(n));
  for (std::size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
    const std::string line = line_.substr(0, end);
    line_.erase(0, end + 1);
    take(line);
  }
  constexpr std::size_t kMostLine = 65536;
  if (line_.size() > kMostLine) line_.clear();
  wait();
}

void PrototypeKeeper::take(const std::string& line) {
  boost::system::error_code error;
  const auto value = boost::json::parse(line, error);
  if (error || !value.is_object()) return;
  const auto& news = value.as_object();
  const auto* kind = news.if_contains("ev");
  if (kind == nullptr || !kind->is_string()) return;
  if (kind->get_string() == "failed") {
    if (const auto* text = news.if_contains("error"); text != nullptr && text->is_string())
      trouble_ = std::string(text->get_string());
    return;
  }
  if (kind->get_string() != "ready" || ready_) return;
  missing_.clear();
  if (const auto* list = news.if_contains("missing"); list != nullptr && list->is_array())
    for (const auto& entry : list->get_array())
      if (entry.is_object() && entry.get_object().contains("name") &&
          entry.get_object().at("name").is_string())
        missing_.push_back(
            {std::string(entry.get_object().at("name").get_string()),
             entry.get_object().contains("reason") && entry.get_object().at("reason").is_string()
                 ? std::string(entry.get_object().at("reason").get_string())
                 : std::string()});
  ready_ = true;
  failures_ = 0;
  trouble_.clear();
  changed_(*this);
}

void PrototypeKeeper::ended(std::uint32_t id, int wait_status) {
  if (id != id_) return;
  ready_ = up_ = false;
  if (trouble_.empty() || failures_ == 0)
    trouble_ = WIFSIGNALED(wait_status)
                   ? "it was killed by signal " + std::to_string(WTERMSIG(wait_status))
                   : "it exited with status " + std::to_string(WEXITSTATUS(wait_status));
  start_again();
  changed_(*this);
}

// Soon, then more and more seldom: what dies at each start will do so again.
void PrototypeKeeper::start_again() {
  constexpr int kMost = 8;
  const int doubled = std::min(failures_++, kMost);
  timer_.expires_after(std::chrono::milliseconds(100 << doubled));
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired() && !up_) restart();
  });
}

}  // namespace runner
