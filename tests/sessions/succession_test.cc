// A prototype is followed by a fresh one: what its payloads share, no crowd of them shares.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"

using namespace sessions_test;
using namespace runner;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kEach = 4;

// The same for all payloads of one prototype, and for no other's.
std::string marks(SessionsUnderTest& test, const std::string& id) {
  return test.run(id, "hash('sandglass'), id(len)").value();
}

std::vector<pid_t> prototypes() {
  std::vector<pid_t> pids = descendants("--join=");
  std::erase_if(pids, [](pid_t pid) { return !in_our_pid_namespace(pid); });
  return pids;
}

// Opens and removes containers until one has other marks.
std::string other_marks(SessionsUnderTest& test, const std::string& than) {
  std::string found = than;
  test.until(
      [&] {
        const std::string id = test.open();
        found = marks(test, id);
        REQUIRE(test.service->remove("", id));
        return found != than;
      },
      60s);
  return found;
}

}  // namespace

TEST_CASE("after so many payloads a prototype is followed by a fresh one, and sessions live on") {
  require_jails();
  const support::Leftovers leftovers;
  {
    SessionsUnderTest test(SessionsUnderTest::kOwn, 1, kEach);
    const std::string id = test.open();
    CHECK(std::string(test.run(id, "x = 5; open('f', 'w').write('y');").word()) == "ok");
    const std::string first = marks(test, id);
    const pid_t ancestor = prototypes().at(0);
    CHECK(marks(test, test.open()) == first);
    const std::string second = other_marks(test, first);
    CHECK(second != first);
    CHECK(marks(test, id) == first);
    CHECK(test.run(id, "x").value() == "5");
    // The old one goes, and its payloads stay.
    test.until([&] {
      const auto living = prototypes();
      return std::find(living.begin(), living.end(), ancestor) == living.end();
    });
    CHECK(test.run(id, "x").value() == "5");
    // What follows an interpreter that ends comes from the one of that time, to the same files.
    CHECK(std::string(test.run(id, "import os; os._exit(1)").word()) == "exited");
    CHECK(test.run(id, "open('f').read()").value() == "'y'");
    CHECK(marks(test, id) != first);
  }
  CHECK(leftovers.found() == "");
}

TEST_CASE("an heir that dies at its start costs nobody anything") {
  require_jails();
  SessionsUnderTest test(SessionsUnderTest::kOwn, 1, kEach);
  const std::string first = marks(test, test.open());
  const pid_t ancestor = prototypes().at(0);
  int killed = 0;
  for (int i = 0; i < 60 && killed < 2; ++i) {
    const std::string id = test.open();
    CHECK(marks(test, id) == first);
    REQUIRE(test.service->remove("", id));
    for (const pid_t pid : prototypes()) {
      if (pid == ancestor) continue;
      ::kill(pid, SIGKILL);
      ++killed;
    }
    test.pass(50ms);
  }
  CHECK(killed >= 2);
  CHECK(other_marks(test, first) != first);
}

TEST_CASE("among many sessions a prototype that dies is followed as well") {
  require_jails();
  SessionsUnderTest test;
  std::vector<std::string> ids(50);  // the spawner keeps some fifteen descriptors for each
  for (std::string& id : ids) id = test.open();
  CHECK(std::string(test.run(ids.front(), "x = 5").word()) == "ok");
  ::kill(prototypes().at(0), SIGKILL);
  test.pass(100ms);
  test.until([&] { return !prototypes().empty(); });
  const std::string id = test.open();
  CHECK(test.run(id, "6 * 7").value() == "42");
  CHECK(test.run(ids.front(), "x").value() == "5");
  ContainerWish loose;
  loose.policy = "loose";  // has a prototype of its own
  const auto other = test.create(loose);
  REQUIRE(other);
  CHECK(test.run(other->id, "6 * 7").value() == "42");
}
