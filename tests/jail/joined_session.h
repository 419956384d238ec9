// A prototype that joins jails and evaluates what it is sent, for the tests of joined payloads.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/jail_client.h"

namespace join_test {

inline constexpr std::uint32_t kPrototype = 7;

// Serves orders, and in the child one Python expression a line.
inline constexpr const char* kScript = R"(
import ctypes, os, sys
join = ctypes.PyDLL("/proc/self/fd/5").sandglass_join
secret = "of the prototype"
got = 0
while got == 0:
    got = join(3)
if got < 0: sys.exit(0)
def attempt(call):
    try: return call()
    except BaseException as error: return type(error).__name__ + " " + str(getattr(error, "errno", ""))
def read(path):
    with open(path) as file: return file.read()
while line := os.read(3, 65536):
    os.write(3, repr(attempt(lambda: eval(line.decode()))).encode())
)";

inline jail::Fd file_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return support::file_with(text.str());
}

inline jail::Spec join_spec() {
  jail::Spec spec = support::base_spec();
  spec.start = jail::Start::kJoin;
  spec.mounts.push_back(support::entry(jail::MountKind::kBind, "/usr", "/usr"));
  spec.mounts.back().exec = jail::Exec::kExec;  // Python's own extensions
  return spec;
}

inline void start_prototype(const support::Spawner& spawner, const char* script = kScript) {
  jail::Command command;
  command.argv = {"/usr/bin/python3", "-s", "-E", "/proc/self/fd/4"};
  const auto sealed = jail::make_command(command);
  const jail::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::vector<jail::Fd> files;
  files.push_back(support::file_with(script));
  files.push_back(file_of(SANDGLASS_TEST_JOIN));
  REQUIRE(jail::send_prototype(spawner.socket(), kPrototype, *sealed, {null, null, null}, files)
              .has_value());
}

struct Session {
  std::uint64_t id = 0;
  jail::Fd control;
  jail::Launched launched;

  // What Python makes of the expression.
  [[nodiscard]] std::string ask(const std::string& expression) const {
    say(expression);
    return hear();
  }
  void say(const std::string& expression) const {
    (void)::send(control.get(), expression.data(), expression.size(), MSG_NOSIGNAL);
  }
  [[nodiscard]] std::string hear() const {
    std::array<char, 65536> answer{};
    const ssize_t n = ::read(control.get(), answer.data(), answer.size());
    return n <= 0 ? "gone" : std::string(answer.data(), static_cast<std::size_t>(n));
  }
};

// `into`: the jail of an earlier join, 0: a new one.
inline Session join(support::Spawner& spawner, const jail::Fd& plan,
                    std::uint32_t prototype = kPrototype, std::uint64_t into = 0,
                    const jail::Fd* command = nullptr) {
  static std::uint64_t last_id = 1000;
  const std::uint64_t id = into != 0 ? into : ++last_id;
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  Session session{id, jail::Fd(pair[0]), {}};
  const jail::Fd theirs(pair[1]);
  const timeval patience{20, 0};
  ::setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const jail::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  REQUIRE(jail::send_join(spawner.socket(), session.id, prototype, plan, theirs, {null, null, null},
                          command)
              .has_value());
  for (;;) {
    auto event = spawner.next(std::chrono::seconds(20));
    REQUIRE(event.has_value());
    auto* launched = std::get_if<jail::Launched>(&*event);
    if (launched == nullptr || launched->id != id) continue;
    session.launched = std::move(*launched);
    return session;
  }
}

inline jail::Ended ended(support::Spawner& spawner, std::uint64_t id) {
  for (;;) {
    auto event = spawner.next(std::chrono::seconds(20));
    REQUIRE(event.has_value());
    const auto* end = std::get_if<jail::Ended>(&*event);
    if (end != nullptr && end->id == id) return *end;
  }
}

}  // namespace join_test
