// Many at once, and more than there is room for: connections that say nothing, sessions, and a host
// that makes no more processes.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/sessions/served.h"
#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

using namespace sessions_test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {

std::size_t number_in(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

void limit_files(rlim_t most) {
  const rlimit files{most, most};
  ::setrlimit(RLIMIT_NOFILE, &files);
}

std::size_t descriptors_of(pid_t pid) {
  std::error_code ignored;
  const fs::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", ignored);
  return static_cast<std::size_t>(std::distance(fs::begin(all), fs::end(all)));
}

template <class Holds>
bool eventually(const Holds& holds, std::chrono::seconds patience = 30s) {
  const auto end = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(50ms);
  }
  return true;
}

std::int64_t open_connections(Client& client) {
  const std::string all = client.call("GET", "/metrics").body;
  const std::string name = "\nsandglass_http_connections ";
  const std::size_t at = all.find(name);
  return at == std::string::npos ? -1 : std::stoll(all.substr(at + name.size()));
}

void check_session_works(Client& client) {
  const std::string id = make(client);
  const Response sum = post(client, "/v1/containers/" + id + "/execute", {{"code", "20 + 22"}});
  CHECK(contains(sum.body, "\"text\":\"42\""));
  CHECK(client.call("DELETE", "/v1/containers/" + id).status == 200);
}

// Until there is an honest refusal; and when what was made is gone, there is room again.
void fill_and_empty(Client& client) {
  std::vector<std::string> ids;
  Response last;
  for (int i = 0; i < 63; ++i) {
    last = post(client, "/v1/containers", {{"name", "c"}});
    if (last.status != 200) break;
    ids.push_back(text(last.json().at("id")));
    const Response sum = post(client, "/v1/containers/" + ids.back() + "/execute", {{"code", "3"}});
    CHECK(contains(sum.body, "\"text\":\"3\""));
  }
  INFO(last.body);
  CHECK(!ids.empty());
  CHECK(last.status == 503);
  CHECK(last.headers.contains("retry-after"));
  CHECK(contains(last.body, "no session can be started here"));
  for (const std::string& id : ids)
    CHECK(client.call("DELETE", "/v1/containers/" + id).status == 200);
  CHECK(eventually([&] { return post(client, "/v1/containers", {{"name", "c"}}).status == 200; }));
}

// At most so many processes for what enters: by a cgroup for root, whom RLIMIT_NPROC does not bind.
class ProcessLimit {
 public:
  explicit ProcessLimit(rlim_t most) : most_(most) {
    if (::geteuid() != 0) {
      for (const auto& entry : fs::directory_iterator("/proc")) {
        struct stat st {};
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            ::stat(entry.path().c_str(), &st) == 0 && st.st_uid == ::geteuid())
          ++most_;
      }
      return;
    }
    support::require(support::Feature::kCgroupV1);
    folder_ = "/sys/fs/cgroup/pids/sandglass-crowd-" + std::to_string(::getpid());
    fs::create_directory(folder_);
    std::ofstream(folder_ / "pids.max") << most;
  }
  ~ProcessLimit() {
    if (folder_.empty()) return;
    CHECK(eventually([&] { return ::rmdir(folder_.c_str()) == 0 || errno == ENOENT; }));
  }
  ProcessLimit(const ProcessLimit&) = delete;
  ProcessLimit& operator=(const ProcessLimit&) = delete;
  ProcessLimit(ProcessLimit&&) = delete;
  ProcessLimit& operator=(ProcessLimit&&) = delete;

  void enter() const {
    const rlimit processes{most_, most_};
    if (folder_.empty()) ::setrlimit(RLIMIT_NPROC, &processes);
    if (!folder_.empty()) std::ofstream(folder_ / "cgroup.procs") << "0" << std::flush;
  }

 private:
  rlim_t most_;
  fs::path folder_;
};

}  // namespace

TEST_CASE("ten thousand connections that say nothing keep nobody from being served") {
  require_jails();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const std::size_t wanted = std::min<std::size_t>(10'000, files.rlim_max / 2);
  Served served;
  Client client = served.client();
  check_session_works(client);
  const std::size_t before = descriptors_of(served.pid());
  {
    std::vector<Client> idle;
    idle.reserve(wanted);
    for (std::size_t i = 0; i < wanted; ++i) {
      idle.push_back(served.client());
      if (i % 1000 == 999) check_session_works(client);
    }
    CHECK(
        eventually([&] { return open_connections(client) >= static_cast<std::int64_t>(wanted); }));
    for (int i = 0; i < 5; ++i) check_session_works(client);
    Client late = served.client();
    check_session_works(late);
    CHECK(idle.front().call("GET", "/healthz").status == 200);
    WARN(wanted << " idle connections");
  }
  CHECK(eventually([&] { return open_connections(client) <= 2; }));
  CHECK(eventually([&] { return descriptors_of(served.pid()) < before + 40; }));
}

TEST_CASE("beyond its limit of connections it drops the idle, and tells the others") {
  require_jails();
  Served served({"--listen", "127.0.0.1:0"},
                [] { limit_files(1200); });  // 688 connections, and room for sessions
  Client client = served.client();
  check_session_works(client);
  {
    std::vector<Client> idle;
    idle.reserve(900);
    for (int i = 0; i < 900; ++i) idle.push_back(served.client());
    Client late = served.client();
    check_session_works(late);
  }
  std::vector<Client> busy;
  for (int i = 0; i < 740; ++i) {
    busy.push_back(served.client());
    (void)busy.back().try_send("GET /healthz HTTP/1.1\r\nHost: loc");
  }
  std::size_t refused = 0;
  std::size_t cut = 0;
  // The last first: those that are refused are given some seconds to read why.
  for (auto one = busy.rbegin(); one != busy.rend(); ++one) {
    (void)one->try_send("alhost\r\nConnection: close\r\n\r\n");
    const Response response = one->read_response();
    if (response.status == 0) ++cut;  // too late to be read
    CHECK((response.status == 200 || response.status == 503 || response.status == 0));
    if (response.status == 503) CHECK(response.headers.at("retry-after") == "1");
    refused += response.status == 503 ? 1 : 0;
  }
  // How many of them still read why depends on how busy the machine is.
  CHECK(refused + cut >= 40);
  CHECK(refused + cut <= 64);
  busy.clear();
  Client after = served.client();
  check_session_works(after);
}

// A smaller crowd than SANDGLASS_SESSIONS=1000 build/test/bin/sessions_crowd "many sessions*".
TEST_CASE("many sessions at once, each with its own state, and all of them gone at the end") {
  require_jails();
  const support::Leftovers leftovers;
  const std::size_t count = number_in("SANDGLASS_SESSIONS", 24);
  const support::TempDir folder;
  {
    std::ofstream(folder / "crowd.toml") << "name = \"crowd\"\nextends = \"standard\"\n"
                                            "why = \"a test\"\n[session]\nmax_sessions = "
                                         << count << "\n";
    Served served({"--listen", "127.0.0.1:0", "--policy", folder / "crowd.toml"});
    Client client = served.client();
    std::vector<std::string> ids;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(make(client));
      const Response set = post(client, "/v1/containers/" + ids.back() + "/execute",
                                {{"code", "x = " + std::to_string(i)}});
      INFO(set.body);
      REQUIRE(set.status == 200);
    }
    const std::chrono::duration<double> took = Clock::now() - start;
    CHECK(post(client, "/v1/containers", {{"name", "one more"}}).status == 429);
    for (std::size_t i = 0; i < count; ++i) {
      const Response got = post(client, "/v1/containers/" + ids[i] + "/execute", {{"code", "x"}});
      CHECK(contains(got.body, "\"text\":\"" + std::to_string(i) + "\""));
    }
    WARN(count << " sessions at once, made in " << took.count() << " s");
    for (const std::string& id : ids)
      CHECK(client.call("DELETE", "/v1/containers/" + id).status == 200);
    check_session_works(client);
    served.child().signal(SIGTERM);
    CHECK(served.child().finish().code == 0);
  }
  CHECK(leftovers.found(10s) == "");
}

TEST_CASE("where no more descriptors are to be had, requests are refused, and then not") {
  require_jails();
  Served served;
  Client client = served.client();
  check_session_works(client);
  const rlimit tight{descriptors_of(served.pid()) + 40, 20'000};
  REQUIRE(::prlimit(served.pid(), RLIMIT_NOFILE, &tight, nullptr) == 0);
  fill_and_empty(client);
}

TEST_CASE("where no more processes can be made, requests are refused, and then not") {
  require_jails();
  const ProcessLimit limit(45);
  Served served({"--listen", "127.0.0.1:0"}, [&] { limit.enter(); });
  Client client = served.client();
  check_session_works(client);
  fill_and_empty(client);
}
