// How code ends, what it loses by that, and that the next execution works.
#include <catch2/catch.hpp>

#include "tests/sessions/sessions_under_test.h"
#include "tests/support/require.h"

using namespace sessions_test;
using namespace runner;
using namespace std::chrono_literals;

namespace {

constexpr const char* kShort =
    "[limits]\nmemory = \"256M\"\n"
    "[files]\nworkdir = { size = \"32M\" }\nscratch = [{ path = \"/tmp\", size = \"32M\" }]\n";

// A variable, and a file in the workdir.
void prepare(SessionsUnderTest& test, const std::string& id) {
  CHECK(std::string(test.run(id, "x = 5; open('kept', 'w').write('here');").word()) == "ok");
}

void check_state_kept(SessionsUnderTest& test, const std::string& id, const Told& told) {
  CHECK(told.kept());
  CHECK(test.run(id, "x, open('kept').read()").value() == "(5, 'here')");
}

void check_files_kept(SessionsUnderTest& test, const std::string& id, const Told& told) {
  CHECK_FALSE(told.kept());
  const Told gone = test.run(id, "x");
  CHECK(std::string(gone.word()) == "raised");
  CHECK(gone.number == 1);  // of a fresh interpreter
  CHECK(test.run(id, "open('kept').read()").value() == "'here'");
}

}  // namespace

TEST_CASE("an interrupt ends the code and keeps its state") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  prepare(test, id);
  CHECK(test.service->interrupt("", id).error().kind == Refusal::Kind::kInvalid);
  const std::string code = GENERATE("print('go')\nwhile 1: pass",
                                    "import time\nprint('go')\n"
                                    "time.sleep(60)",
                                    "import os\nprint('go')\nos.system('sleep 60')");
  const auto told = test.begin(id, {code});
  test.until([&] { return contains(told->out, "go"); });
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(test.service->interrupt("", id));
  test.until([&] { return told->is_over; });
  CHECK(std::chrono::steady_clock::now() - start < 400ms);  // not by the kill after the grace
  CHECK(std::string(told->word()) == "interrupted");
  check_state_kept(test, id, *told);
}

TEST_CASE("the time limit keeps the state of code that stops, and only files of other code") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  prepare(test, id);
  const Told told = test.run(id, Code{"while 1: pass", 200ms});
  CHECK(std::string(told.word()) == "timed_out");
  REQUIRE(told.finished.outcome.limit.has_value());
  CHECK(told.finished.outcome.limit->name == "wall_time");
  CHECK(told.finished.outcome.limit->value == 200);
  check_state_kept(test, id, told);
  const Told deaf = test.run(
      id,
      Code{"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile 1: pass", 200ms});
  CHECK(std::string(deaf.word()) == "timed_out");
  CHECK(deaf.finished.outcome.usage.wall < 3s);
  check_files_kept(test, id, deaf);
}

TEST_CASE("what waits can be interrupted before it begins") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const auto first = test.begin(id, {"import time; time.sleep(50)"});
  test.until([&] { return first->order == "begin"; });
  const auto second = test.begin(id, {"print('never')"});
  std::vector<std::shared_ptr<Told>> others(15);
  for (auto& one : others) one = test.begin(id, {"1"});
  CHECK(contains(test.begin(id, {"1"})->refused, "16 executions waiting"));
  second->handle->interrupt();
  second->handle->interrupt();
  const auto last = test.begin(id, {"7"});  // in the place that is free again
  CHECK(last->refused.empty());
  test.until([&] { return second->is_over; });
  CHECK_FALSE(first->is_over);
  CHECK(std::string(second->word()) == "interrupted");
  CHECK(second->kept());
  CHECK(second->finished.outcome.text == "it was interrupted before it began");
  CHECK(second->order == "outcome");
  second->handle->interrupt();  // nothing any more
  first->handle->interrupt();
  test.until([&] { return last->is_over; });
  CHECK(std::string(first->word()) == "interrupted");
  for (const auto& one : others) CHECK(std::string(one->word()) == "ok");
  CHECK(last->value() == "7");
}

TEST_CASE("sys.exit ends the code only") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  prepare(test, id);
  const Told three = test.run(id, "import sys; sys.exit(3)");
  CHECK(std::string(three.word()) == "exited");
  CHECK(three.finished.outcome.status == 3);
  check_state_kept(test, id, three);
  CHECK(std::string(test.run(id, "sys.exit()").word()) == "ok");
}

TEST_CASE("an interpreter that ends says how, files stay, and the next execution works") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  prepare(test, id);
  const Told three = test.run(id, "import os; print('last words'); os._exit(3)");
  CHECK(std::string(three.word()) == "exited");
  CHECK(three.finished.outcome.status == 3);
  CHECK(three.out == "last words\n");
  check_files_kept(test, id, three);
  const Told zero = test.run(id, "import os; os._exit(0)");
  CHECK(std::string(zero.word()) == "exited");
  CHECK(zero.finished.outcome.status == 0);
  check_files_kept(test, id, zero);
  const Told fault = test.run(id, "import ctypes; ctypes.string_at(0)");
  CHECK(std::string(fault.word()) == "signalled");
  CHECK(fault.finished.outcome.signal == 11);
  check_files_kept(test, id, fault);
  const Told killed = test.run(id, "import os; os.kill(os.getpid(), 9)");
  CHECK(std::string(killed.word()) == "signalled");
  CHECK(killed.finished.outcome.signal == 9);
  check_files_kept(test, id, killed);
  const Told all = test.run(id, "import os; os.kill(-1, 9); 4");
  CHECK(all.is_over);
  CHECK(test.run(id, "2 + 2").value() == "4");
  const Told stopped = test.run(id, Code{"import os; os.kill(os.getpid(), 19)", 200ms});
  CHECK(std::string(stopped.word()) == "timed_out");
  check_files_kept(test, id, stopped);
}

TEST_CASE("memory over the limit ends the interpreter, and files stay") {
  require_jails();
  support::require(support::Feature::kMemoryCgroup);
  SessionsUnderTest test(kShort);
  const std::string id = test.open();
  prepare(test, id);
  const Told told =
      test.run(id, "a = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): a[i] = 1");
  CHECK(std::string(told.word()) == "out_of_memory");
  REQUIRE(told.finished.outcome.limit.has_value());
  CHECK(told.finished.outcome.limit->value == std::uint64_t{256} << 20U);
  check_files_kept(test, id, told);
}

TEST_CASE("memory_limit may tighten, and not loosen") {
  require_jails();
  support::require(support::Feature::kMemoryCgroup);
  SessionsUnderTest test(kShort);
  ContainerWish wish;
  wish.memory = jail::mib(512);
  const auto more = test.create(wish);
  REQUIRE_FALSE(more);
  CHECK(more.error().kind == Refusal::Kind::kInvalid);
  CHECK(more.error().param == "memory_limit");
  wish.memory = jail::mib(128);
  const auto less = test.create(wish);
  REQUIRE(less);
  CHECK(less->memory == jail::mib(128));
  const std::string fill = "a = bytearray(180 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1";
  const Told told = test.run(less->id, fill);
  CHECK(std::string(told.word()) == "out_of_memory");
  CHECK(test.run(less->id, "1").value() == "1");
  CHECK(std::string(test.run(test.open(), fill).word()) == "ok");
}

TEST_CASE("refused calls are told with the execution that made them, and not carried over") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::string code =
      "import socket\nfor i in range(3):\n  try: socket.socket(socket.AF_INET, "
      "socket.SOCK_STREAM)\n"
      "  except OSError as error: print(error.errno)";
  const Told told = test.run(id, code);
  CHECK(told.out == "1\n1\n1\n");
  CHECK(std::string(told.word()) == "ok");
  REQUIRE(told.finished.denied.size() == 1);
  CHECK(told.finished.denied[0].syscall == "socket");
  CHECK(contains(told.finished.denied[0].args, "AF_INET, SOCK_STREAM"));
  CHECK(told.finished.denied[0].count == 3);
  CHECK(test.run(id, "1").finished.denied.empty());
  CHECK(test.run(id, code).finished.denied.at(0).count == 3);
  const Told dies = test.run(id, code + "\nimport os; os._exit(1)");
  REQUIRE(dies.finished.denied.size() == 1);
  CHECK(dies.finished.denied[0].count == 3);
  CHECK(test.run(id, "1").finished.denied.empty());
}

TEST_CASE("an execution that a deletion or a shutdown ends tells how long it ran") {
  require_jails();
  SessionsUnderTest test;
  const std::string first = test.open();
  const std::string second = test.open();
  const auto deleted = test.begin(first, Code{"import time; time.sleep(60)"});
  const auto queued = test.begin(first, Code{"1"});
  const auto stopped = test.begin(second, Code{"import time; time.sleep(60)"});
  test.pass(300ms);
  REQUIRE(test.service->remove("", first));
  test.until([&] { return deleted->is_over && queued->is_over; });
  test.service->shutdown("it is over");
  test.until([&] { return stopped->is_over; });
  CHECK(deleted->finished.outcome.usage.wall >= 250ms);
  CHECK(stopped->finished.outcome.usage.wall >= 250ms);
  CHECK(queued->finished.outcome.usage.wall == 0ms);
}
