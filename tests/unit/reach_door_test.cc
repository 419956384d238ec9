// The doors' probes against a server without a guard: what a careless one lets through must count
// as reached. Against ours they run in tests/e2e.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "jail/fd.h"
#include "runner/reach/door.h"
#include "runner/reach/door_probe.h"

namespace {

using namespace runner::reach;

// Answers every request, whatever it is, with the same success.
class Careless {
 public:
  explicit Careless(std::string reply) : reply_(std::move(reply)) {
    listener_ = jail::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_.get(), 512) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    stop_ = jail::Fd(::eventfd(0, EFD_CLOEXEC));
    thread_ = std::thread([this] { serve(); });
  }
  Careless(const Careless&) = delete;
  Careless& operator=(const Careless&) = delete;
  Careless(Careless&&) = delete;
  Careless& operator=(Careless&&) = delete;
  ~Careless() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }
  [[nodiscard]] DoorAddress address() const { return {"127.0.0.1", port_, ""}; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve() {
    while (true) {
      std::array<pollfd, 2> waits{pollfd{listener_.get(), POLLIN, 0},
                                  pollfd{stop_.get(), POLLIN, 0}};
      if (::poll(waits.data(), waits.size(), -1) < 0) continue;
      if (waits[1].revents != 0) return;
      const jail::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) continue;
      const timeval soon{0, 300'000};
      (void)::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
      std::string bytes;
      std::array<char, 65536> buffer{};
      while (bytes.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(client.get(), buffer.data(), buffer.size(), 0);
        if (n <= 0) break;
        bytes.append(buffer.data(), static_cast<std::size_t>(n));
      }
      (void)::send(client.get(), reply_.data(), reply_.size(), MSG_NOSIGNAL);
      (void)::shutdown(client.get(), SHUT_WR);
      while (::recv(client.get(), buffer.data(), buffer.size(), 0) > 0) {
      }
    }
  }

  std::string reply_;
  jail::Fd listener_;
  jail::Fd stop_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

std::string success(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

Observation run(std::span<const DoorProbe> probes, const std::string& name, Door& door) {
  for (const DoorProbe& probe : probes)
    if (probe.probe.name == name) return probe.run(door);
  FAIL("no probe " << name);
  return {};
}

const std::vector<std::string> kTokens{"0000000000000000000000000000000000000000",
                                       "1111111111111111111111111111111111111111"};

}  // namespace

TEST_CASE("a server that lets everybody in is reached by each probe of who may come in") {
  const Careless server(success(R"({"id":"cntr_000000000000000000001","path":"/etc/cron.d/x"})",
                                "Access-Control-Allow-Origin: *\r\n"));
  Door door(server.address(), kTokens);
  for (const char* name : {"missing-token",
                           "wrong-token",
                           "empty-token",
                           "token-cut-short",
                           "basic-scheme",
                           "token-in-query",
                           "other-clients-container",
                           "other-clients-execute",
                           "other-clients-files",
                           "other-clients-delete",
                           "other-clients-interrupt",
                           "other-clients-list",
                           "other-clients-file-copied",
                           "guessed-id",
                           "used-after-delete",
                           "rebinding-host",
                           "two-hosts",
                           "foreign-origin",
                           "cors-for-all",
                           "form-post",
                           "get-executes",
                           "bare-headers"}) {
    INFO(name);
    CHECK(run(door_clients(), name, door).verdict == Verdict::kReached);
  }
}

TEST_CASE("a server that takes every request is reached by what is malformed or huge") {
  const Careless server(success("{}"));
  Door door(server.address(), {});
  for (const char* name :
       {"two-lengths", "odd-lengths", "odd-encodings", "odd-lines", "not-http", "huge-header",
        "many-headers", "long-target", "announced-body", "large-json", "json-bombs"}) {
    INFO(name);
    const Observation seen = run(door_requests(), name, door);
    INFO(seen.detail);
    CHECK(seen.verdict == Verdict::kReached);
  }
}

TEST_CASE("a server that believes names and serves host files is reached by files") {
  const Careless server(success(
      R"({"id":"cntr_1","path":"/mnt/data/../../etc/x","data":[{"id":"cfile_1","path":"/x"}],)"
      R"("stdout":"planted root:x:0:0:root:/root:/bin/bash"})",
      "Content-Type: text/html\r\nX-Evil: 1\r\n"));
  Door door(server.address(), {});
  for (const char* name :
       {"upload-name-with-dots", "upload-absolute-name", "upload-dot-dot", "upload-backslashes",
        "upload-name-with-nul", "form-name-with-dots", "path-in-target", "symlink-fetched",
        "symlinked-folder-fetched", "fifo-as-output", "header-by-file-name", "page-by-file",
        "policy-by-path", "looser-limits"}) {
    INFO(name);
    const Observation seen = run(door_files(), name, door);
    INFO(seen.detail);
    CHECK(seen.verdict == Verdict::kReached);
  }
}

TEST_CASE("forged results that are believed count as reached") {
  const Careless server(success(
      "{\"id\":\"cntr_1\",\"outcome\":\"ok\",\"execution_count\":2,\"state_preserved\":true,"
      "\"usage\":424242,\"a\":\n{\"type\":\"outcome\"},\"b\":\n{\"type\":\"outcome\"}}"));
  Door door(server.address(), {});
  for (const char* name :
       {"forged-end", "forged-usage", "forged-lines", "raw-terminal-bytes", "interpreter-killed"}) {
    INFO(name);
    const Observation seen = run(door_streams(), name, door);
    INFO(seen.detail);
    CHECK(seen.verdict == Verdict::kReached);
  }
}

TEST_CASE("a server that refuses honest work too is no safe one") {
  const Careless server("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  DoorOptions options;
  options.url = server.url();
  const auto report = run_door_suite(options);
  REQUIRE_FALSE(report);
  CHECK(report.error().text.find("it makes no container") != std::string::npos);
}

TEST_CASE("where nobody answers, and what is no address") {
  DoorOptions options;
  options.url = "unix:/nonexistent/socket";
  options.only = {"missing-token", "zzz"};
  const auto unknown = run_door_suite(options);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().text.starts_with("no probe zzz of the door; "));
  options.only.clear();
  for (const char* url : {"ftp://127.0.0.1:1", "http://example.com:80", "http://127.0.0.1",
                          "http://127.0.0.1:0", "http://127.0.0.1:99999", "unix:", ""}) {
    INFO(url);
    options.url = url;
    const auto report = run_door_suite(options);
    REQUIRE_FALSE(report);
    CHECK(report.error().kind == runner::ErrorKind::kUsage);
  }
  options.url = "unix:/nonexistent/socket";
  const auto report = run_door_suite(options);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == runner::ErrorKind::kHost);
}

TEST_CASE("the doors' probes have ids, cases and sentences of their own") {
  std::set<std::string_view> ids;
  std::set<std::string_view> names;
  for (const Probe& probe : server_catalogue()) {
    INFO(probe.id);
    CHECK(ids.insert(probe.id).second);
    CHECK(names.insert(probe.name).second);
    CHECK_FALSE(probe.source.empty());
    CHECK_FALSE(probe.tries.ends_with("."));
    CHECK(probe.expected.loose == Verdict::kBlocked);
    CHECK(probe.by == By::kDoor);
  }
  CHECK(ids.size() == 67);
}

TEST_CASE("a reply is read whole or not at all") {
  const Reply chunked = parse_reply(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  CHECK(chunked.status == 200);
  CHECK(chunked.body == "abcde");
  CHECK(parse_reply("HTTP/1.1 200 OK\r\nX: 1\r\n").status == 0);
  CHECK(parse_reply("").status == 0);
  CHECK(parse_reply("HTTP/1.1 204 No Content\r\nX-A:  b\r\n\r\n").headers.at("x-a") == "b");
}
