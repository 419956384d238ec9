// Code that fights its driver: forged frames, closed and flooded descriptors, processes that stay.
// And the death of what serves it.
#include <sys/resource.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"
#include "tests/support/sanitized.h"

using namespace sessions_test;
using namespace runner;
using namespace std::chrono_literals;

namespace {

// frame(object) as the driver would write it.
constexpr const char* kForge =
    "import os, json, struct, time\n"
    "def frame(**o):\n"
    "  data = json.dumps(o).encode()\n"
    "  return struct.pack('<I', len(data)) + data\n";

void check_works(SessionsUnderTest& test, const std::string& id) {
  const Told told = test.run(id, Code{"6 * 7", 10s});
  CHECK(std::string(told.word()) == "ok");
  CHECK(told.value() == "42");
}

}  // namespace

TEST_CASE("what is written to the control channel ends honestly, and the next execution works") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::vector<std::string> attacks = {
      "os.write(3, b'garbage that is no frame at all')",
      "os.write(3, b'\\xff\\xff\\xff\\xff')",
      "os.write(3, b'\\x00\\x00\\x00\\x80' + b'x' * 100)",
      "os.write(3, b'\\x10\\x00\\x00\\x00half')",
      "os.write(3, b'\\x10\\x00\\x00\\x00half'); os._exit(0)",
      "os.write(3, b'\\x00\\x00\\x00\\x00')",
      "os.write(3, b'\\x02\\x00\\x00\\x00[]')",
      "os.write(3, b'\\x02\\x00\\x00\\x00\\xff\\xfe')",
      "d = b'[' * 100000; os.write(3, struct.pack('<I', len(d)) + d)",
      "os.write(3, frame(ev='begin', id=-1)); os.write(3, frame(ev='end', id=1 << 70))",
      "os.write(3, frame(ev=None, id={})); os.write(3, frame(ev='result', id=1, data=[1]))",
      "os.write(3, frame(ev='ready')); os.write(3, frame(ev='begin', id=2, n='x'))",
      "os.close(3)",
      "os.closerange(0, 64)",
      "os.dup2(os.open('/dev/null', os.O_RDWR), 3)",
      "[os.read(3, 1 << 16) for _ in range(9)]",
  };
  for (const std::string& attack : attacks) {
    INFO(attack);
    const Told told = test.run(id, Code{kForge + attack, 1500ms});
    const std::string word = told.word();
    CHECK((word == "ok" || word == "raised" || word == "killed" || word == "exited" ||
           word == "timed_out" || word == "signalled"));
    if (word == "killed" || word == "exited" || word == "signalled") CHECK_FALSE(told.kept());
    check_works(test, id);
  }
}

TEST_CASE("a forged end ends the execution, and its code can not hold up the next for ever") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::string forged =
      std::string(kForge) +
      "for n in range(50): os.write(3, frame(ev='end', id=n, status='exit', code=7))\n";
  const Told told = test.run(id, forged + "time.sleep(60)");
  CHECK(std::string(told.word()) == "exited");
  CHECK(told.finished.outcome.status == 7);  // its own word for it; no fact of ours
  const auto start = std::chrono::steady_clock::now();
  const Told next = test.run(id, Code{"1", 500ms});
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  CHECK((next.kept() || std::string(next.word()) == "timed_out"));
  // The ends that were still on their way may have ended that one too.
  std::string value;
  for (int i = 0; i < 60 && value != "1"; ++i) value = test.run(id, Code{"1", 500ms}).value();
  CHECK(value == "1");
  check_works(test, id);
}

TEST_CASE("an endless flood is cut, said, and costs us no memory") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const Told told = test.run(id, Code{"import os\nb = b'x' * 65536\nwhile 1: os.write(1, b)", 1s});
  CHECK(std::string(told.word()) == "timed_out");
  CHECK(told.kept());
  CHECK(told.out.size() == std::size_t{1} << 20U);
  CHECK(told.finished.outcome.out.truncated);
  CHECK(told.finished.outcome.out.produced > told.out.size());
  CHECK_FALSE(told.finished.outcome.err.truncated);
  const Told frames = test.run(id, Code{"while 1: display('x' * 100000)", 1s});
  CHECK(frames.results.size() <= 256);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_maxrss - before.ru_maxrss < (support::kSanitized ? 1024L : 128L) * 1024);  // KiB
  check_works(test, id);
}

TEST_CASE("a flood of the smallest frames keeps nobody else from being served") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::string other = test.open();
  CHECK(test.run(other, "1").value() == "1");
  const std::string one = GENERATE("b'\\x02\\x00\\x00\\x00{}'", "frame(ev='mark', id=1, mark=7)",
                                   "frame(ev='result', id=1, data={})");
  const auto flood = test.begin(
      id, Code{std::string(kForge) + "b = " + one + " * 2000\nwhile 1: os.write(3, b)", 1s});
  for (int i = 0; i < 20; ++i) CHECK(test.run(other, Code{"6 * 7", 10s}).value() == "42");
  test.until([&] { return flood->is_over; });
  CHECK(std::string(flood->word()) == "timed_out");
  check_works(test, id);
}

TEST_CASE("frames after the close of the other side go nowhere, and end nothing else") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::string other = test.open();
  // Its child holds the channel open, and writes to it when the driver is long dead.
  const Told told = test.run(
      id, Code{std::string(kForge) +
                   "import socket\nkeep = os.dup(3)\nif os.fork() == 0:\n"
                   "  os.setsid()\n  time.sleep(0.2)\n  for i in range(100):\n"
                   "    os.write(keep, frame(ev='end', id=2, status='ok'))\n  os._exit(0)\n"
                   "socket.socket(fileno=3).shutdown(socket.SHUT_RDWR)",
               3s});
  const std::string word = told.word();
  CHECK((word == "exited" || word == "killed" || word == "signalled"));
  CHECK_FALSE(told.kept());
  test.pass(400ms);
  check_works(test, id);
  check_works(test, other);
}

TEST_CASE("a slow client stops the flood, and gets its outcome") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const auto told = test.begin(id, Code{"import os\nwhile 1: os.write(1, b'x' * 65536)", 700ms});
  test.until([&] { return !told->out.empty(); });
  told->handle->pause();
  const std::size_t had = told->out.size();
  test.pass(300ms);
  CHECK(told->out.size() == had);
  test.until([&] { return told->is_over; });
  CHECK(std::string(told->word()) == "timed_out");
  check_works(test, id);
}

TEST_CASE("a process that stays behind does not hold up the end, and dies with the container") {
  require_jails();
  const support::Leftovers leftovers;
  SessionsUnderTest test;
  const std::string id = test.open();
  const Told told = test.run(id, Code{"import os, time\nif os.fork() == 0:\n  os.setsid()\n"
                                      "  if os.fork() == 0:\n    time.sleep(600)\n  os._exit(0)\n"
                                      "'parent'",
                                      5s});
  CHECK(told.value() == "'parent'");
  CHECK(std::string(told.word()) == "ok");
  const Told dies = test.run(id, "os._exit(4)");
  CHECK(dies.finished.outcome.status == 4);
  check_works(test, id);
  CHECK(test.run(id,
                 "import os; [p for p in os.listdir('/proc') if p.isdigit() and "
                 "os.getppid() != int(p) and int(p) not in (1, os.getpid())]")
            .value() == "[]");
  const Told forks = test.run(
      id, Code{"import os, time\nfor i in range(300):\n  if os.fork() == 0: time.sleep(600)", 25s});
  CHECK_FALSE(forks.raised.empty());
  test.run(id, "1");
  REQUIRE(test.service->remove("", id));
  test.pass(200ms);
}

TEST_CASE("an interpreter on its way when its prototype dies comes from the next, to its files") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  for (int i = 0; i < 4; ++i) {
    REQUIRE(std::string(test.run(id, "open('f', 'a').write('y');").word()) == "ok");
    // Stopped, it leaves the order unserved; killed, it takes the order along.
    test.pass(200ms);
    const auto before = descendants("--join=");
    REQUIRE_FALSE(before.empty());
    ::kill(before.front(), SIGSTOP);
    CHECK(std::string(test.run(id, "import os; os._exit(1)").word()) == "exited");
    test.pass(50ms);
    ::kill(before.front(), SIGKILL);
    const Told next = test.run(id, "open('f').read()");
    CHECK(next.value() == "'" + std::string(static_cast<std::size_t>(i) + 1, 'y') + "'");
  }
  CHECK(test.service->find("", id)->status == Container::Status::kRunning);
}

TEST_CASE("a prototype and its spawner that die together are followed by one of each") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  test.pass(200ms);
  const auto prototypes = descendants("--join=");
  const auto spawners = descendants("sandglass-spawner");
  REQUIRE_FALSE(prototypes.empty());
  REQUIRE_FALSE(spawners.empty());
  ::kill(prototypes.front(), SIGKILL);
  // Long enough that its death is known, not so long that it is followed already.
  test.until([&] { return descendants("--join=").front() != prototypes.front(); });
  ::kill(spawners.front(), SIGKILL);
  test.until([&] { return test.service->find("", id)->status == Container::Status::kExpired; });
  test.until([&] { return test.create().has_value(); });
  test.pass(1s);
  int parents =
      0;  // prototypes are the spawner's children outside of any jail: not in a new pid namespace
  for (const pid_t pid : descendants("--join=")) parents += in_our_pid_namespace(pid) ? 1 : 0;
  CHECK(parents == 1);
}

TEST_CASE("whoever is told of an end may call the service from there") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::string other = test.open();
  int ends = 0;
  const auto end = [&](const ExecutionEvent& event) {
    if (!std::holds_alternative<Finished>(event)) return;
    ++ends;
    (void)test.service->remove("", id);
    (void)test.service->remove("", other);
    test.service->sweep();
  };
  const auto start = [&](const std::string& container, const std::string& code) {
    ExecuteWish wish;
    wish.code = code;
    return test.service->execute("", container, wish, end);
  };
  SECTION("of code that comes to its end") {
    const auto first = start(id, "1");
    const auto second = start(id, "2");
    const auto third = start(other, "import time; time.sleep(60)");
    test.until([&] { return ends == 3; });
  }
  SECTION("of an interpreter that dies") {
    const auto first = start(id, "import os; os._exit(1)");
    const auto second = start(id, "2");
    test.until([&] { return ends == 2; });
    test.pass(300ms);  // nothing is started for who is gone
  }
  SECTION("of a container that is deleted, and of others") {
    const auto first = start(id, "import time; time.sleep(60)");
    const auto second = start(other, "import time; time.sleep(60)");
    test.pass(100ms);
    REQUIRE(test.service->remove("", id));
    CHECK(ends == 0);
    test.until([&] { return ends == 2; });
  }
  SECTION("of containers that expire") {
    const auto first = start(id, "import time; time.sleep(60)");
    const auto second = start(other, "import time; time.sleep(60)");
    test.pass(100ms);
    test.move_clock(std::chrono::hours(1000));
    CHECK(ends == 0);
    test.until([&] { return ends == 2; });
  }
  SECTION("of a service that shuts down") {
    const auto first = start(id, "import time; time.sleep(60)");
    const auto second = start(other, "import time; time.sleep(60)");
    test.pass(100ms);
    test.service->shutdown("it is over");
    CHECK(ends == 0);
    test.until([&] { return ends == 2; });
  }
  SECTION("of output, in the middle") {
    bool gone = false;
    ExecuteWish wish;
    wish.code = "while 1: print('x' * 1000); display(1)";
    const auto handle = test.service->execute("", id, wish, [&](const ExecutionEvent& event) {
      if (std::holds_alternative<Output>(event) && !std::exchange(gone, true))
        (void)test.service->remove("", id);
      if (std::holds_alternative<Finished>(event)) ++ends;
    });
    test.until([&] { return ends == 1; });
  }
  CHECK(test.service->find("", id).error().kind == Refusal::Kind::kNotFound);
  CHECK(test.run(test.open(), "6 * 7").value() == "42");
}

TEST_CASE("a container that is waited for when the service ends is refused, or forgotten whole") {
  require_jails();
  SessionsUnderTest test(SessionsUnderTest::kOwn, 0);
  std::vector<Refusal::Kind> refused;
  const auto done = [&](const Answer<Container>& made) {
    REQUIRE_FALSE(made);
    refused.push_back(made.error().kind);
  };
  test.service->create("", {}, done);
  ContainerWish own;
  own.memory = jail::mib(100);
  test.service->create("", own, done);
  test.service->shutdown("it is over");
  test.until([&] { return refused.size() == 1; });
  CHECK(refused.front() == Refusal::Kind::kUnavailable);
  test.service->create("", {},
                       done);  // what waits now goes with the service: under ASan a leak fails
}

TEST_CASE("a prototype's death is mended, and sessions live on") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  CHECK(test.run(id, "x = 1; x").value() == "1");
  test.pass(200ms);
  const auto before = descendants("--join=");
  REQUIRE_FALSE(before.empty());
  // The prototype is the first; its payloads have the same command line.
  ::kill(before.front(), SIGKILL);
  test.pass(50ms);
  CHECK(test.run(id, "x + 1").value() == "2");
  // An interpreter that ends meanwhile is followed by a fresh one when there is a prototype.
  CHECK(std::string(test.run(id, "open('f', 'w').write('y'); import os; os._exit(1)").word()) ==
        "exited");
  CHECK(test.run(id, "open('f').read()").value() == "'y'");
  test.until([&] {
    const auto made = test.create();  // an honest refusal until there is one
    CHECK((made || made.error().kind == Refusal::Kind::kUnavailable));
    return made.has_value();
  });
  for (int i = 0; i < 6; ++i) CHECK(test.run(test.open(), "3").value() == "3");
}

TEST_CASE("the spawner's death ends executions honestly, and new containers work") {
  require_jails();
  const support::Leftovers leftovers;
  {
    SessionsUnderTest test;
    const std::string id = test.open();
    REQUIRE(test.put(id, "f", "x"));
    const auto told = test.begin(id, {"import time; print('go'); time.sleep(60)"});
    test.until([&] { return contains(told->out, "go"); });
    const auto spawners = descendants("sandglass-spawner");
    REQUIRE(spawners.size() > 2);
    // The keeper, the worker, and the first processes of all jails.
    const std::size_t from = GENERATE(0U, 1U, 2U);
    for (std::size_t i = from; i < (from < 2 ? from + 1 : spawners.size()); ++i)
      ::kill(spawners[i], SIGKILL);
    test.until([&] { return told->is_over; }, 5s);
    const std::string word = told->word();
    CHECK((word == "killed" || (from == 2 && word == "signalled")));
    CHECK_FALSE(told->kept());
    test.until([&] { return test.service->find("", id)->status == Container::Status::kExpired; });
    CHECK(test.begin(id, {"1"})->kind == Refusal::Kind::kExpired);
    std::string other;
    test.until([&] {
      const auto made = test.create();
      if (made) other = made->id;
      return made.has_value();
    });
    CHECK(test.run(other, "2").value() == "2");
  }
  CHECK(leftovers.found() == "");
}
