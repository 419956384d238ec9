// Words: every step has one of its own, every error reads as a line.
#include <catch2/catch.hpp>
#include <cerrno>
#include <set>

#include "jail/error.h"
#include "jail/syscalls.h"
#include "jail/text_file.h"
#include "tests/support/sample_specs.h"

namespace {

using jail::describe;
using jail::SetupError;
using jail::Step;

std::string line(Step step, int error, std::uint16_t index = 0) {
  const jail::Spec spec = support::every_kind_of_mount();
  return describe(SetupError{step, index, error}, &spec);
}

}  // namespace

TEST_CASE("every step has a name of its own") {
  std::set<std::string> names;
  for (auto s = static_cast<unsigned>(Step::kNone); s <= static_cast<unsigned>(Step::kLast); ++s) {
    const std::string name = jail::step_name(static_cast<Step>(s));
    CHECK(name != "unknown");
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos);
    CHECK(names.insert(name).second);
  }
  CHECK(std::string(jail::step_name(static_cast<Step>(9999))) == "unknown");
}

TEST_CASE("errnos are named by their symbols") {
  CHECK(jail::errno_name(EPERM) == "EPERM");
  CHECK(jail::errno_name(ENOSPC) == "ENOSPC");
  CHECK(jail::errno_name(4711) == "errno 4711");
  CHECK(jail::errno_name(-1) == "errno -1");
}

TEST_CASE("an error reads as step, object, errno and what to do") {
  CHECK(line(Step::kOpenSource, EACCES) ==
        "open_source[0] /usr: EACCES (the sandbox uid can't read it)");
  CHECK(line(Step::kOpenSource, ENOENT, 1) ==
        "open_source[1] /dev/null: ENOENT (no such path on this host)");
  CHECK(line(Step::kMount, EBUSY, 4) == "mount[4] /lib: EBUSY");
  CHECK(line(Step::kMount, ENOENT, 4) ==
        "mount[4] /lib: ENOENT (a read-only folder is shown above it, and has nothing of that "
        "name)");
  CHECK(line(Step::kRlimit, EINVAL, 1) == "rlimit[1] resource 7: EINVAL");
  CHECK(line(Step::kBoundingSet, EPERM, 21) == "bounding_set[21]: EPERM");
  CHECK(line(Step::kSlots, EAGAIN) ==
        "slots: EAGAIN (too many jails at once: wait for one to end)");
  CHECK(line(Step::kExec, ENOENT) == "exec: ENOENT (not found inside the jail)");
  CHECK(line(Step::kExec, EACCES) == "exec: EACCES (not executable inside the jail)");
  CHECK(line(Step::kInput, ENOSPC, 3) ==
        "input[3]: ENOSPC (the input does not fit: raise files.workdir.size)");
  CHECK(line(Step::kOuterUserNs, ENOSPC) ==
        "outer_user_namespace: ENOSPC (the limit of user namespaces is reached: raise "
        "user.max_user_namespaces)");
  CHECK(line(Step::kProc, EPERM).rfind("proc: EPERM (the kernel refuses a fresh /proc", 0) == 0);
  CHECK(line(Step::kOpenSource, EMFILE) ==
        "open_source[0] /usr: EMFILE (no more descriptors for this process: raise ulimit -n)");
  CHECK(line(Step::kSpawnerStart, ENFILE) ==
        "spawner: ENFILE (no more descriptors on this host: raise ulimit -n, and fs.file-max)");
  for (const Step step : {Step::kClone, Step::kFork, Step::kSpawnerStart, Step::kOuterUserNs})
    CHECK(line(step, EAGAIN) ==
          jail::step_name(step) + std::string(": EAGAIN (no more processes allowed for this "
                                              "user: see ulimit -u)"));
  for (const int error : {EPIPE, ECHILD})
    CHECK(line(Step::kReport, error) ==
          "report: " + jail::errno_name(error) +
              " (the jail was killed from outside while it was being made; try again)");
  CHECK(line(Step::kPlan, E2BIG) ==
        "plan: E2BIG (too much for one jail: fewer binds or arguments)");
  CHECK(line(Step::kProtocol, ECONNRESET) == "protocol: ECONNRESET (the spawner is gone)");
}

TEST_CASE("an index beyond the Spec, or no Spec, leaves the object out") {
  CHECK(line(Step::kMount, EIO, 0xffff) == "mount[65535]: EIO");
  CHECK(describe(SetupError{Step::kMount, 2, EIO}, nullptr) == "mount[2]: EIO");
}

TEST_CASE("system calls have numbers and names") {
  CHECK(jail::syscall_number("read") == 0);
  CHECK(jail::syscall_number("execve") == 59);
  CHECK(jail::syscall_number("no_such_call") == std::nullopt);
  CHECK(jail::syscall_number("socketcall") == std::nullopt);  // i386 only
  CHECK(jail::syscall_number("") == std::nullopt);
  CHECK(jail::syscall_name(257) == "openat");
  CHECK(jail::syscall_name(1023) == "syscall 1023");
  CHECK(jail::syscall_name(-1) == "syscall -1");
  for (int n = 0; n <= jail::kLastSyscall; ++n) {
    const std::string name = jail::syscall_name(n);
    if (name.rfind("syscall ", 0) != 0) CHECK(jail::syscall_number(name) == n);
  }
}

TEST_CASE("keyed numbers are found by whole keys") {
  const std::string events = "low 0\noom 7\noom_kill 3\noom_group_kill 1\n";
  CHECK(jail::keyed_number(events, "oom_kill") == 3);
  CHECK(jail::keyed_number(events, "oom") == 7);
  CHECK(jail::keyed_number(events, "oom_group_kill") == 1);
  CHECK(jail::keyed_number(events, "kill") == std::nullopt);
  CHECK(jail::keyed_number("", "oom") == std::nullopt);
  CHECK(jail::keyed_number("oom", "oom") == std::nullopt);
  CHECK(jail::keyed_number("oom 12", "oom") == 12);
  CHECK(jail::keyed_number("oom x\noom 5\n", "oom") == std::nullopt);
}

TEST_CASE("the first number of a text") {
  CHECK(jail::first_number("42\n") == 42);
  CHECK(jail::first_number("max 7 8") == 7);
  CHECK(jail::first_number("max\n") == std::nullopt);
  CHECK(jail::first_number("18446744073709551615") == ~0ULL);
  CHECK(jail::first_number("18446744073709551616") == std::nullopt);
}
