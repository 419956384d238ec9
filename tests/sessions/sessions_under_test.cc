#include "tests/sessions/sessions_under_test.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/require.h"

namespace sessions_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace runner;

constexpr std::chrono::milliseconds kTurn{20};

std::string whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

// proc_pid_stat(5): "pid (comm) state ppid ..."
pid_t parent_of(pid_t pid) {
  const std::string line = whole("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t close = line.rfind(')');
  return close == std::string::npos ? 0 : static_cast<pid_t>(std::stol(line.substr(close + 4)));
}

// The 22nd word there, in clock ticks. Numbers of processes come round again, so they tell no age.
unsigned long long started_at(pid_t pid) {
  const std::string line = whole("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream rest(line.substr(close + 1));
  std::string word;
  for (int i = 3; i <= 22; ++i) rest >> word;
  return std::stoull(word);
}

bool is_ours(pid_t pid) {
  for (pid = parent_of(pid); pid > 1; pid = parent_of(pid))
    if (pid == ::getpid()) return true;
  return false;
}

void add(Told& told, const ExecutionEvent& event) {
  CHECK_FALSE(told.is_over);  // nothing comes behind the outcome
  std::string word;
  if (const auto* begun = std::get_if<Begun>(&event)) {
    word = "begin";
    told.number = begun->number;
  } else if (const auto* output = std::get_if<Output>(&event)) {
    const bool is_out = output->to == Output::To::kOut;
    word = is_out ? "out" : "err";
    (is_out ? told.out : told.err) += output->bytes;
  } else if (const auto* rich = std::get_if<Rich>(&event)) {
    word = "result";
    told.results.push_back(*rich);
  } else if (const auto* raised = std::get_if<Raised>(&event)) {
    word = "error";
    told.raised.push_back(*raised);
  } else if (const auto* finished = std::get_if<Finished>(&event)) {
    word = "outcome";
    told.finished = *finished;
    told.is_over = true;
  }
  const bool same = (word == "out" || word == "err") && told.order.ends_with(word);
  if (!same) told.order += (told.order.empty() ? "" : " ") + word;
}

}  // namespace

void require_jails() {
  support::require(support::Feature::kUserNamespaces);
  support::require(support::Feature::kSeccompNotify);
  (void)std::signal(SIGPIPE, SIG_IGN);
}

std::string Told::value() const {
  if (results.empty() || !results.back().data.contains("text/plain")) return "";
  return results.back().data.at("text/plain");
}

const File* Told::file(const std::string& name) const {
  const auto it = std::find_if(finished.files.begin(), finished.files.end(),
                               [&](const File& one) { return one.path == "/mnt/data/" + name; });
  return it == finished.files.end() ? nullptr : &*it;
}

std::string Told::skipped(const std::string& name) const {
  for (const Skipped& one : finished.skipped)
    if (one.path == name) return one.reason;
  return "";
}

SessionsUnderTest::SessionsUnderTest(const std::string& policy, std::size_t warm,
                                     std::size_t payloads_each) {
  SessionsOptions options;
  options.warm = warm;
  options.payloads_each = payloads_each;
  options.now = [this] { return now; };
  options.steady = [this] { return steady; };
  if (!policy.empty()) {
    options.default_policy = folder_ / "own.toml";
    std::ofstream(options.default_policy)
        << "name = \"own\"\nextends = \"standard\"\nwhy = \"a test\"\n"
        << policy;
  }
  const Home home{SANDGLASS_TEST_SPAWNER, SANDGLASS_TEST_SHARE "/policies", SANDGLASS_TEST_SHARE,
                  SANDGLASS_TEST_JOIN};
  service = std::make_unique<Sessions>(loop, home, options);
}

SessionsUnderTest::~SessionsUnderTest() {
  service->shutdown("the test is over");
  service.reset();
}

void SessionsUnderTest::until(const std::function<bool()>& holds,
                              std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() >= end) FAIL("it did not happen in time");
    loop.restart();
    loop.run_one_for(kTurn);
  }
}

void SessionsUnderTest::pass(std::chrono::milliseconds time) {
  loop.restart();
  loop.run_for(time);
}

void SessionsUnderTest::move_clock(std::chrono::seconds by) {
  steady += by;
  set_clock(by);
}

void SessionsUnderTest::set_clock(std::chrono::seconds by) {
  now += by;
  service->sweep();
}

Answer<Container> SessionsUnderTest::create(const ContainerWish& wish, const Tenant& tenant) {
  std::optional<Answer<Container>> answer;
  service->create(tenant, wish, [&answer](Answer<Container> got) { answer = std::move(got); });
  CHECK_FALSE(answer.has_value());  // never from inside the call
  until([&] { return answer.has_value(); });
  return *answer;
}

std::string SessionsUnderTest::open() {
  const auto container = create();
  if (!container) FAIL("create: " << container.error().text);
  return container->id;
}

std::shared_ptr<Told> SessionsUnderTest::begin(const std::string& id, const Code& code,
                                               const Tenant& tenant) {
  auto told = std::make_shared<Told>();
  ExecuteWish wish;
  wish.code = code.text;
  wish.input = code.input;
  if (code.timeout.count() > 0) wish.timeout = code.timeout;
  auto handle = service->execute(tenant, id, std::move(wish),
                                 [told](const ExecutionEvent& event) { add(*told, event); });
  if (handle) {
    told->handle = std::move(*handle);
  } else {
    told->refused = handle.error().text;
    told->kind = handle.error().kind;
    told->is_over = true;
  }
  return told;
}

Told SessionsUnderTest::run(const std::string& id, const Code& code) {
  const auto told = begin(id, code);
  until([&] { return told->is_over; });
  if (!told->refused.empty()) FAIL("execute: " << told->refused);
  return std::move(*told);
}

Answer<File> SessionsUnderTest::put(const std::string& id, const std::string& name,
                                    const std::string& content, const Tenant& tenant) {
  std::optional<Answer<File>> answer;
  service->put_file(tenant, id, name, std::make_shared<const std::string>(content),
                    [&answer](Answer<File> got) { answer = std::move(got); });
  until([&] { return answer.has_value(); });
  return *answer;
}

std::vector<File> SessionsUnderTest::files(const std::string& id) {
  Page page;
  page.limit = 100;
  page.order = Page::Order::kAscending;
  const auto listing = service->files("", id, page);
  if (!listing) FAIL("files: " << listing.error().text);
  return listing->data;
}

std::string SessionsUnderTest::content(const std::string& id, const std::string& file_id) {
  const auto bytes = service->content("", id, file_id);
  return bytes ? *bytes : "refused: " + bytes.error().text;
}

std::vector<pid_t> descendants(const std::string& part) {
  std::vector<std::pair<unsigned long long, pid_t>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (contains(whole(entry.path() / "cmdline"), part) && is_ours(pid))
      found.emplace_back(started_at(pid), pid);
  }
  std::sort(found.begin(), found.end());
  std::vector<pid_t> pids;
  pids.reserve(found.size());
  for (const auto& [start, pid] : found) pids.push_back(pid);
  return pids;
}

bool in_our_pid_namespace(pid_t pid) {
  std::error_code ignored;
  return fs::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", ignored) ==
         fs::read_symlink("/proc/self/ns/pid", ignored);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace sessions_test
