// Payloads that come from a prototype: what they are, what they can't do, and what their end
// leaves.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "tests/jail/joined_session.h"
#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

using namespace join_test;
using support::Backend;
using support::base_spec;
using support::Spawner;
using namespace std::chrono_literals;

TEST_CASE("a payload that joined is confined like one that was executed") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  start_prototype(spawner);
  jail::Spec spec = join_spec();
  spec.hostname = "somewhere";
  spec.proc = jail::ProcView::kOwnPids;
  spec.rlimits = {{RLIMIT_NOFILE, 32, 32}};
  const Session session = join(spawner, support::plan_of(spec));
  REQUIRE_FALSE(session.launched.error.has_value());
  CHECK(session.ask("secret") == "'of the prototype'");
  CHECK(session.ask("os.getresuid() + os.getresgid()") == "(1000, 1000, 1000, 1000, 1000, 1000)");
  CHECK(session.ask("os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0)") == "(2, 0, 2, 2)");
  CHECK(session.ask("__import__('threading').get_native_id()") == "2");
  CHECK(session.ask("os.uname().nodename, os.getcwd()") == "('somewhere', '/mnt/data')");
  CHECK(session.ask("os.listdir('/proc/self/fd')") ==
        "['0', '1', '2', '3', '4']");  // 4: the listing
  const std::string status = session.ask("read('/proc/self/status')");
  for (const char* line : {"CapPrm:\\t0000000000000000", "CapEff:\\t0000000000000000",
                           "CapBnd:\\t0000000000000000", "NoNewPrivs:\\t1", "Seccomp:\\t2"})
    CHECK_THAT(status, Catch::Contains(line));
  CHECK(session.ask("os.listdir('/mnt/data'), sorted(os.listdir('/'))") ==
        "([], ['dev', 'mnt', 'payloads', 'proc', 'run', 'tmp', 'usr'])");
  CHECK(session.ask("open('/new', 'w')") == "'OSError 30'");
  CHECK(session.ask("os.setuid(0)") == "'OSError 22'");
  CHECK(session.ask("__import__('resource').getrlimit(7)") == "(32, 32)");
  CHECK(session.ask("[l.rsplit(':', 1)[1] for l in read('/proc/self/cgroup').split()][0]") ==
        "'/'");
  CHECK(session.ask("__import__('socket').socket()") == "'PermissionError 1'");
  CHECK(session.ask("os.listdir('/proc/1')") != "");
  REQUIRE(jail::send_kill(spawner.socket(), session.id).has_value());
  const jail::Ended end = ended(spawner, session.id);
  CHECK(end.cause == jail::KillCause::kRequested);
  CHECK_FALSE(end.exited);
  CHECK(end.denied_total >= 1);
}

TEST_CASE("joined payloads: ends, signals, and one prototype for many") {
  support::require(support::Feature::kUserNamespaces);
  const support::Leftovers leftovers;
  {
    Spawner spawner;
    start_prototype(spawner);
    const jail::Fd plan = support::plan_of(join_spec());
    REQUIRE(jail::send_pool(spawner.socket(), plan, 2).has_value());
    const Session one = join(spawner, plan);
    const Session two = join(spawner, plan);
    CHECK(one.ask("globals().update(x=1)") == "None");
    CHECK(two.ask("x") == "'NameError '");
    CHECK(one.ask("x") == "1");
    CHECK(one.ask("os._exit(9)") == "gone");
    const jail::Ended first = ended(spawner, one.id);
    CHECK(first.exited);
    CHECK(WEXITSTATUS(first.wait_status) == 9);
    CHECK(two.ask("__import__('signal').getsignal(2).__name__") == "'default_int_handler'");
    two.say("__import__('time').sleep(20)");
    std::this_thread::sleep_for(300ms);  // into the call: between two, Python would end
    REQUIRE(jail::send_interrupt(spawner.socket(), two.id).has_value());
    CHECK(two.hear() == "'KeyboardInterrupt '");
    CHECK(two.ask("os.kill(os.getpid(), 11)") == "gone");
    const jail::Ended second = ended(spawner, two.id);
    CHECK((second.exited && WIFSIGNALED(second.wait_status) && WTERMSIG(second.wait_status) == 11));
    // What it leaves behind ends with it.
    const Session three = join(spawner, plan);
    CHECK(three.ask("os.fork() or __import__('time').sleep(1000)") != "gone");
    CHECK(three.ask("os._exit(0)") == "gone");
    CHECK(ended(spawner, three.id).exited);
    // Another payload comes into the same jail: files are there, processes of the last are not.
    const Session again = join(spawner, plan, kPrototype, one.id);
    REQUIRE_FALSE(again.launched.error.has_value());
    CHECK(again.ask("x") == "'NameError '");
    CHECK(again.ask("open('/mnt/data/kept', 'w').write('abc')") == "3");
    CHECK(again.ask("os.fork() or __import__('time').sleep(1000)") != "gone");
    REQUIRE(jail::send_kill(spawner.socket(), again.id).has_value());
    CHECK(ended(spawner, again.id).cause == jail::KillCause::kRequested);
    const Session last = join(spawner, plan, kPrototype, one.id);
    CHECK(last.ask("read('/mnt/data/kept')") == "'abc'");
    CHECK(last.ask("[attempt(lambda: os.kill(p, 0)) for p in range(2, os.getpid())].count(None)") ==
          "0");
    CHECK(join(spawner, plan, kPrototype, one.id).launched.error ==
          jail::SetupError{jail::Step::kProtocol, 3, EBUSY});
    REQUIRE(jail::send_close(spawner.socket(), one.id).has_value());
    CHECK(ended(spawner, one.id).cause == jail::KillCause::kRequested);
    CHECK(spawner.stop() == 0);
  }
  CHECK(leftovers.found() == "");
}

TEST_CASE("a prototype that is missing, wrong, dead or dropped") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(join_spec());
  using jail::SetupError;
  using jail::Step;
  CHECK(join(spawner, plan).launched.error == SetupError{Step::kPrototype, 0, ESRCH});
  start_prototype(spawner, "import sys; sys.exit(3)");
  auto event = spawner.next(10s);
  REQUIRE(event.has_value());
  const auto* gone = std::get_if<jail::PrototypeEnded>(&*event);
  REQUIRE(gone != nullptr);
  CHECK(gone->id == kPrototype);
  CHECK(WEXITSTATUS(gone->wait_status) == 3);
  start_prototype(spawner, "import time; time.sleep(0.3)");
  CHECK(join(spawner, plan).launched.error == SetupError{Step::kPrototype, 1, ESRCH});
  // The same id may be used again. A session outlives its prototype.
  start_prototype(spawner);
  const Session session = join(spawner, plan);
  REQUIRE_FALSE(session.launched.error.has_value());
  REQUIRE(jail::send_drop_prototype(spawner.socket(), kPrototype).has_value());
  event = spawner.next(10s);
  REQUIRE(event.has_value());
  CHECK(std::get<jail::PrototypeEnded>(*event).wait_status == 0);
  CHECK(session.ask("6 * 7") == "42");
  CHECK(join(spawner, plan).launched.error == SetupError{Step::kPrototype, 0, ESRCH});
  CHECK(join(spawner, support::plan_of(base_spec()), kPrototype).launched.error ==
        SetupError{Step::kProtocol, 2, EINVAL});
}

namespace {

constexpr const char* kBurn =
    "(lambda end: [0 for _ in iter(lambda: __import__('time').process_time() < end, False)] and "
    "0)"
    "(__import__('time').process_time() + 0.3)";

jail::Spec limited_spec() {
  jail::Spec spec = join_spec();
  spec.totals.memory = jail::mib(128);
  spec.totals.cpu_time = jail::Millis(600);
  return spec;
}

}  // namespace

TEST_CASE("limits and usage of a joined payload count from when it is armed") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  start_prototype(spawner);
  const Session session = join(spawner, support::plan_of(limited_spec()));
  REQUIRE_FALSE(session.launched.error.has_value());
  for (int i = 0; i < 3; ++i) {  // together more than the limit
    REQUIRE(jail::send_arm(spawner.socket(), session.id, jail::Millis(600)).has_value());
    CHECK(session.ask(kBurn) == "0");
    CHECK(session.ask("__import__('socket').socket()") == "'PermissionError 1'");
    REQUIRE(jail::send_usage(spawner.socket(), session.id).has_value());
    auto event = spawner.next(10s);
    REQUIRE(event.has_value());
    const auto* denied = std::get_if<jail::DeniedList>(&*event);
    REQUIRE(denied != nullptr);
    CHECK(denied->denied.size() == 1);
    CHECK(denied->denied.front().count == 1);
    event = spawner.next(10s);
    REQUIRE(event.has_value());
    const auto* usage = std::get_if<jail::Usage>(&*event);
    REQUIRE(usage != nullptr);
    CHECK(usage->so_far.denied_total == 1);
    if (spawner.hello().cpu_time != jail::Enforcer::kRlimit) {
      CHECK(usage->so_far.cpu_time.count() >= 280);
      CHECK(usage->so_far.cpu_time.count() < 600);
    }
  }
  REQUIRE(jail::send_arm(spawner.socket(), session.id, jail::Millis(200)).has_value());
  std::this_thread::sleep_for(2s);  // idle for so long that nobody looks any more
  CHECK(session.ask("any(iter(int, 1))") == "gone");
  CHECK(ended(spawner, session.id).cause == jail::KillCause::kCpuTime);
}

TEST_CASE("what one payload used up is not the end of the next, armed or not yet") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  start_prototype(spawner);
  const jail::Fd plan = support::plan_of(limited_spec());
  const Session one = join(spawner, plan);
  REQUIRE_FALSE(one.launched.error.has_value());
  REQUIRE(jail::send_arm(spawner.socket(), one.id, jail::Millis(600)).has_value());
  CHECK(one.ask("any(False for _ in iter(int, 1))") == "gone");
  CHECK(ended(spawner, one.id).cause == jail::KillCause::kCpuTime);
  // Longer than from one look at its processor time to the next.
  const Session two = join(spawner, plan, kPrototype, one.id);
  REQUIRE_FALSE(two.launched.error.has_value());
  CHECK(two.ask(kBurn) == "0");
  CHECK(two.ask("6 * 7") == "42");
}

TEST_CASE("a caller that shares memory reads usage itself, and the worker obeys what it writes") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  start_prototype(spawner);
  const auto memory = jail::MeterMemory::make();
  REQUIRE(memory.has_value());
  REQUIRE(jail::send_meters(spawner.socket(), *memory).has_value());
  Session session = join(spawner, support::plan_of(limited_spec()));
  REQUIRE_FALSE(session.launched.error.has_value());
  jail::Meter meter(std::move(session.launched.meter), *memory);
  const jail::Hello& hello = spawner.hello();
  const auto by_cgroup = [](jail::Enforcer e) { return e != jail::Enforcer::kRlimit; };
  const bool all =
      by_cgroup(hello.memory) && by_cgroup(hello.processes) && by_cgroup(hello.cpu_time);
  REQUIRE(meter.is_valid() == all);
  if (!all) return;  // then there is nothing to read, and the caller asks
  for (int i = 0; i < 3; ++i) {
    REQUIRE(meter.arm(jail::Millis(600)));
    CHECK(session.ask(kBurn) == "0");
    const auto used = meter.used();
    REQUIRE(used.has_value());
    CHECK(used->cpu_time.count() >= 280);
    CHECK(used->cpu_time.count() < 600);
    CHECK(used->peak_memory_from == hello.memory);
    CHECK(used->peak_memory.value > 0);
    CHECK(used->oom_kills == 0);
  }
  // A refused call is the worker's to tell, until the next turn.
  REQUIRE(meter.arm(jail::Millis(600)));
  CHECK(session.ask("__import__('socket').socket()") == "'PermissionError 1'");
  CHECK_FALSE(meter.used().has_value());
  REQUIRE(jail::send_usage(spawner.socket(), session.id).has_value());
  auto event = spawner.next(10s);
  REQUIRE(event.has_value());
  REQUIRE(std::get_if<jail::DeniedList>(&*event) != nullptr);
  event = spawner.next(10s);
  REQUIRE(event.has_value());
  const auto* usage = std::get_if<jail::Usage>(&*event);
  REQUIRE(usage != nullptr);
  CHECK(usage->so_far.denied_total == 1);
  CHECK(usage->so_far.cpu_time.count() < 280);  // of this turn alone
  REQUIRE(meter.arm(jail::Millis(200)));
  CHECK(meter.used().has_value());
  CHECK(session.ask("[0 for _ in iter(int, 1)]") == "gone");
  CHECK(ended(spawner, session.id).cause == jail::KillCause::kCpuTime);
}

TEST_CASE("memory that is not sealed, or not of the size, is no meter") {
  CHECK_FALSE(jail::MeterMemory::of(support::file_with("x")).has_value());
  const jail::Fd unsealed(::memfd_create("meters", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), jail::kMeterSlots * sizeof(jail::MeterSlot)) == 0);
  const auto same = [&unsealed] { return jail::Fd(::fcntl(unsealed.get(), F_DUPFD_CLOEXEC, 3)); };
  CHECK_FALSE(jail::MeterMemory::of(same()).has_value());
  REQUIRE(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  CHECK(jail::MeterMemory::of(same()).has_value());
}

TEST_CASE("a payload that is executed in a jail that stays") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = join_spec();
  spec.filter = support::allow_all_but({"socket", "execve", "execveat"});
  for (const char* folder : {"/lib", "/lib64"})  // where its loader is said to be
    spec.mounts.push_back(
        support::entry(jail::MountKind::kSymlink, std::string("usr") + folder, folder));
  const jail::Fd plan = support::plan_of(spec);
  jail::Command command;
  command.argv = {"python3", "-c", R"(
import os
while line := os.read(3, 65536):
    try: os.write(3, repr(eval(line)).encode())
    except BaseException as error: os.write(3, repr(error).encode())
)"};
  command.env = {"PATH=/usr/bin", "A=1"};
  const jail::Fd sealed = std::move(*jail::make_command(command));
  const Session one = join(spawner, plan, 0, 0, &sealed);
  REQUIRE_FALSE(one.launched.error.has_value());
  CHECK(one.ask("os.environ.get('A'), os.getpid(), os.getuid(), os.getcwd()") ==
        "('1', 2, 1000, '/mnt/data')");
  CHECK(one.ask("open('kept', 'w').write('abc')") == "3");
  CHECK(one.ask("os.execv('/usr/bin/true', ['true'])") ==
        "PermissionError(1, 'Operation not permitted')");
  CHECK(one.ask("os._exit(7)") == "gone");
  const jail::Ended end = ended(spawner, one.id);
  CHECK(WEXITSTATUS(end.wait_status) == 7);
  CHECK(end.denied_total >= 1);
  const Session two = join(spawner, plan, 0, one.id, &sealed);
  REQUIRE_FALSE(two.launched.error.has_value());
  CHECK(two.ask("open('kept').read()") == "'abc'");
  command.argv[0] = "no-such-program";
  const jail::Fd wrong = std::move(*jail::make_command(command));
  CHECK(join(spawner, plan, 0, 0, &wrong).launched.error ==
        jail::SetupError{jail::Step::kExec, 0, ENOENT});
}
