// What is made of the words of a program inside another sandbox.
#include <catch2/catch.hpp>
#include <cerrno>

#include "policies/load.h"
#include "runner/reach/facts.h"
#include "runner/reach/static_reach.h"

namespace {

using namespace runner::reach;

std::vector<Call> calls() {
  const auto library = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(library);
  auto all = all_calls(library->syscalls(), Opening::kClosed);
  REQUIRE(all);
  return *all;
}

Opening opening_of(const Surface& surface, int number) {
  for (const Call& call : surface.calls)
    if (call.number == number) return call.opening;
  FAIL("no call " << number);
  return Opening::kUnknown;
}

constexpr const char* kOutside =
    "seccomp 0\nnamespace user user:[1]\nnamespace net net:[2]\nnamespace pid pid:[3]\n"
    "limit cpu_time_each 12\nlimit open_files 4096\nlimit stack 65536\n"
    "call 0 9\ncall 1 9\ncall 2 14\ncall 3 1\ncall 4 9\nend facts\n";

}  // namespace

TEST_CASE("a sandbox without a filter leaves every call open") {
  const auto surface = surface_of_facts(
      "seccomp 0\nno_new_privileges 1\nnamespace user user:[9]\nnamespace net net:[2]\n"
      "effective 21\nbounding 21\nsocket AF_INET stream\nsocket AF_INET raw\nsocket AF_ALG "
      "seqpacket\nmount / ro,relatime overlay 0\nmount /tmp rw,nosuid,noexec tmpfs 1\n"
      "mount /home rw ext4 1\nmount /proc rw proc 1\nlimit cpu_time_each 12\nlimit open_files "
      "1024\nlimit stack "
      "unlimited\nprocesses 3\ndevice /dev/null\nend facts\n",
      kOutside, calls());
  if (!surface) FAIL(surface.error().text);
  CHECK(surface->origin == Origin::kMeasured);
  CHECK(surface->filter == "none");
  CHECK(count_reachable(*surface) == static_cast<int>(surface->calls.size()));
  CHECK(surface->namespaces == std::vector<std::string>{"user"});
  CHECK(surface->network == "the host's");
  CHECK(surface->effective == std::vector<std::string>{"sys_admin"});
  CHECK(surface->no_new_privileges == true);
  REQUIRE(surface->sockets.size() == 2);
  CHECK(surface->sockets[0].types == std::vector<std::string>{"stream", "raw"});
  REQUIRE(surface->paths.size() == 4);
  CHECK(surface->paths[0].write == Write::kNo);
  CHECK(surface->paths[1].place == Place::kMemory);
  CHECK(surface->paths[1].run == Run::kNo);
  CHECK(surface->paths[2].place == Place::kHost);
  CHECK(surface->paths[2].write == Write::kYes);
  CHECK(surface->paths[3].place == Place::kProc);
  REQUIRE(surface->limits.size() == 2);  // the third is the same outside: not the sandbox's
  CHECK(limit_text(surface->limits[0]) == "1024");
  CHECK(limit_text(surface->limits[1]) == "unlimited");
  CHECK(surface->processes == "3 in its /proc");
  CHECK(surface->devices == std::vector<std::string>{"/dev/null"});
}

TEST_CASE("under a filter a call is closed only where the answer differs from outside") {
  const auto surface = surface_of_facts(
      "seccomp 2\ncall 0 9\ncall 1 1\ncall 2 1031\ncall 3 1\ncall 4 38\nend facts\n", kOutside,
      calls());
  if (!surface) FAIL(surface.error().text);
  CHECK(opening_of(*surface, 0) == Opening::kOpen);
  CHECK(opening_of(*surface, 1) == Opening::kClosed);   // EPERM, outside EBADF
  CHECK(opening_of(*surface, 2) == Opening::kClosed);   // SIGSYS
  CHECK(opening_of(*surface, 3) == Opening::kUnknown);  // EPERM on both sides: the kernel's own?
  CHECK(opening_of(*surface, 4) == Opening::kClosed);   // ENOSYS, outside EBADF
  CHECK(opening_of(*surface, 5) == Opening::kUnknown);  // not tried
  CHECK(count_reachable(*surface) == 1);
  CHECK_FALSE(surface->notes.empty());
}

TEST_CASE("words that are no facts, or half of them, are no surface") {
  CHECK_FALSE(surface_of_facts("", kOutside, calls()));
  CHECK_FALSE(surface_of_facts("bwrap: no such file\n", kOutside, calls()));
  CHECK_FALSE(surface_of_facts("seccomp 0\nno_new_privileges 1\n", kOutside, calls()));
}

TEST_CASE("facts may be forged, and stay text") {
  const auto surface = surface_of_facts(
      "seccomp 0\nmount \x1b[2J/x rw tmpfs 1\nlimit open_files -1\nlimit nosuch 5\nsocket A\n"
      "limit stack 99999999999999999999999\nlimit cpu_time_each 18446744073709551615\n"
      "limit processes_of_user 7x\nlimit nice unlimited\n"
      "call x y\nbounding 999\neffective\nend facts\n",
      "end facts\n", calls());
  REQUIRE(surface);
  REQUIRE(surface->paths.size() == 1);
  CHECK(surface->paths[0].path == "\x1b[2J/x");  // as it came: who shows it escapes it, once
  CHECK(surface->bounding == std::vector<std::string>{"number 999"});
  REQUIRE(surface->limits.size() == 1);
  CHECK(surface->limits[0].name == "nice");
  CHECK_FALSE(surface->limits[0].value);
  CHECK(surface->sockets.empty());
}
