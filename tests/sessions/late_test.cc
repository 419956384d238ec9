// What comes too late: a signal, a kill or a death, when the execution it was meant for is over.
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/sessions/sessions_under_test.h"

using namespace sessions_test;
using namespace runner;
using namespace std::chrono_literals;

namespace {

// A spawner that is slow: what it is asked for comes when it is let go.
class SlowSpawner {
 public:
  SlowSpawner() : pids_(descendants("sandglass-spawner")) {
    REQUIRE(pids_.size() >= 2);
    pids_.resize(2);  // the keeper and the worker; the others are the jails' first processes
    for (const pid_t pid : pids_) ::kill(pid, SIGSTOP);
  }
  ~SlowSpawner() { let_go(); }
  SlowSpawner(const SlowSpawner&) = delete;
  SlowSpawner& operator=(const SlowSpawner&) = delete;
  SlowSpawner(SlowSpawner&&) = delete;
  SlowSpawner& operator=(SlowSpawner&&) = delete;

  void let_go() const {
    for (const pid_t pid : pids_) ::kill(pid, SIGCONT);
  }

 private:
  std::vector<pid_t> pids_;
};

struct Speech {
  std::string language;
  std::string brief;  // says "go", and comes to its end 300 ms later
  std::string next;   // takes 300 ms, and says "7"
};

std::string open(SessionsUnderTest& test, const std::string& language) {
  ContainerWish wish;
  wish.language = language;
  const auto made = test.create(wish);
  REQUIRE(made);
  return made->id;
}

}  // namespace

TEST_CASE("an interrupt that comes when its execution is over does not end the next one") {
  require_jails();
  SessionsUnderTest test;
  const Speech speech = GENERATE(
      Speech{"python", "import time\nprint('go')\ntime.sleep(0.3)", "time.sleep(0.3); print(7)"},
      Speech{"node", "console.log('go'); const a = Date.now(); while (Date.now() < a + 300);",
             "const b = Date.now(); while (Date.now() < b + 300); console.log(7)"},
      Speech{"bash", "echo go; sleep 0.3", "sleep 0.3; echo 7"});
  INFO(speech.language);
  const std::string id = open(test, speech.language);
  const auto first = test.begin(id, {speech.brief});
  test.until([&] { return contains(first->out, "go"); });
  const SlowSpawner slow;
  REQUIRE(test.service->interrupt("", id));
  const auto second = test.begin(id, {speech.next});
  test.pass(450ms);
  slow.let_go();
  test.until([&] { return second->is_over; });
  CHECK(std::string(first->word()) == "interrupted");
  CHECK(first->kept());
  CHECK(std::string(second->word()) == "ok");
  CHECK(second->out == "7\n");
  CHECK(second->number == 2);  // of the same interpreter
}

TEST_CASE("interrupts at any moment, two in a row, end nothing but what they were meant for") {
  require_jails();
  SessionsUnderTest test;
  const Speech speech =
      GENERATE(Speech{"python", "for i in range(200000): pass", "print(7)"},
               Speech{"node", "for (let i = 0; i < 3e5; i++); await null; 1", "console.log(7)"},
               Speech{"bash", "for ((i = 0; i < 2000; i++)); do :; done", "echo 7"});
  INFO(speech.language);
  const std::string id = open(test, speech.language);
  CHECK(test.run(id, speech.next).out == "7\n");
  int interrupted = 0;
  for (int i = 0; i < 60; ++i) {
    const auto first = test.begin(id, {speech.brief});
    test.pass(std::chrono::milliseconds(i % 12));
    if (test.service->interrupt("", id)) (void)test.service->interrupt("", id);
    const auto second = test.begin(id, {speech.next});
    test.until([&] { return second->is_over; });
    CHECK(first->is_over);
    const std::string word = first->word();
    INFO(word << " " << first->finished.outcome.text << " "
              << (first->raised.empty() ? "" : first->raised[0].traceback));
    CHECK((word == "ok" || word == "interrupted"));
    interrupted += word == "interrupted" ? 1 : 0;
    CHECK(std::string(second->word()) == "ok");
    CHECK(second->out == "7\n");
  }
  CHECK(interrupted > 0);
  WARN(speech.language << ": " << interrupted << " of 60 were interrupted");
}

TEST_CASE("code that ends when it is about to be killed is not said to have kept its variables") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  CHECK(std::string(test.run(id, "x = 5").word()) == "ok");
  const auto first = test.begin(
      id, {"import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('go')\n"
           "time.sleep(0.8)"});
  test.until([&] { return contains(first->out, "go"); });
  const SlowSpawner slow;
  REQUIRE(test.service->interrupt("", id));
  test.pass(1200ms);  // by now it is to be killed, and has come to its end
  slow.let_go();
  test.until([&] { return first->is_over; });
  CHECK(std::string(first->word()) == "interrupted");
  CHECK_FALSE(first->kept());
  const Told next = test.run(id, "x");
  CHECK(std::string(next.word()) == "raised");
  CHECK(next.number == 1);
  CHECK(next.kept());
}

TEST_CASE("an interpreter that ends between executions is told of by the next") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::string died = "the interpreter had ended before this began (";
  const auto check_told = [&](const std::string& code, const std::string& why) {
    const Told left = test.run(id, "import os, threading\nopen('f', 'w').write('y')\n" + code);
    CHECK(std::string(left.word()) == "ok");
    CHECK(left.kept());
    CHECK(left.finished.outcome.text.empty());
    test.pass(500ms);
    const Told next = test.run(id, "x = open('f').read(); x");
    CHECK(std::string(next.word()) == "ok");
    CHECK(next.value() == "'y'");
    CHECK(next.number == 1);
    CHECK_FALSE(next.kept());
    CHECK(next.finished.outcome.text ==
          died + why + "): variables of earlier executions are gone, files stay");
    const Told after = test.run(id, "x");
    CHECK(after.value() == "'y'");
    CHECK(after.kept());
    CHECK(after.finished.outcome.text.empty());
  };
  check_told("threading.Timer(0.1, os._exit, (3,)).start()", "status 3");
  check_told("threading.Timer(0.1, os.kill, (os.getpid(), 9)).start()", "SIGKILL");
  // One that dies with an execution is told of by that one alone.
  CHECK_FALSE(test.run(id, "import os; os._exit(4)").kept());
  CHECK(test.run(id, "1").kept());
  CHECK(std::string(test.run(id, "1 / 0").finished.outcome.text).empty());
}

TEST_CASE("what is written between executions comes with the next") {
  require_jails();
  SessionsUnderTest test;
  const auto check_late = [&](const std::string& id, const std::string& leave,
                              const std::string& next, const std::string& out,
                              const std::string& err) {
    CHECK(std::string(test.run(id, leave).word()) == "ok");
    test.pass(400ms);
    const Told told = test.run(id, next);
    CHECK(told.out == out);
    CHECK(contains(told.err, err));
    CHECK(told.finished.outcome.out.produced == out.size());
    CHECK(told.order.starts_with("begin out"));
    CHECK(test.run(id, next).out != out);  // once
  };
  check_late(open(test, "python"),
             "import threading, sys\nthreading.Timer(0.1, lambda: (print('late'), print('bad', "
             "file=sys.stderr))).start()",
             "print('next')", "late\nnext\n", "bad\n");
  check_late(open(test, "node"),
             "setTimeout(() => { console.log('late'); throw new Error('lost') }, 100); undefined",
             "console.log('next')", "late\nnext\n", "Uncaught Error: lost");
  check_late(open(test, "bash"), "(sleep 0.1; echo late; echo bad >&2) & disown", "echo next",
             "late\nnext\n", "bad\n");
  const std::string id = test.open();
  check_late(id, "import os, threading\nthreading.Timer(0.1, os.write, (1, b'x' * 60000)).start()",
             "1", std::string(60000, 'x'), "");
  CHECK(std::string(test.run(id,
                             "def flood():\n  for i in range(160): os.write(1, b'x' * 65536)\n"
                             "threading.Timer(0.1, flood).start()")
                        .word()) == "ok");
  test.pass(600ms);
  CHECK(test.run(id, "1").out == std::string(65536, 'x'));
}
