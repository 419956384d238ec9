// Stdin, stdout and stderr: to the byte, as they come, and up to the cap.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/e2e/e2e.h"
#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"

using namespace e2e;
using namespace std::chrono_literals;

namespace {

// Every byte there is, in an order that does not repeat with the size of any buffer.
std::string every_byte(std::size_t size) {
  std::string bytes(size, '\0');
  unsigned state = 12345;
  for (char& byte : bytes) {
    state = state * 1103515245U + 12345U;
    byte = static_cast<char>(state >> 16U);
  }
  return bytes;
}

// A policy like `standard` whose output cap is larger than what the tests send.
std::string roomy(const support::TempDir& folder) {
  write(folder / "roomy.toml",
        "name = \"roomy\"\nextends = \"standard\"\nwhy = \"much output\"\n"
        "[limits]\noutput = \"64M\"\n");
  return folder / "roomy.toml";
}

}  // namespace

TEST_CASE("stdin passes through, whatever its bytes") {
  require_jails();
  const support::TempDir folder;
  Call call{.args = {"exec", "--policy", roomy(folder), "--", "cat"}};
  call.input = every_byte(20 << 20);
  const Ran ran = run(call);
  CHECK(ran.code == 0);
  CHECK((ran.out == call.input));
  CHECK(ran.err == "");
  call.input = "";
  CHECK(run(call).out == "");
}

TEST_CASE("twenty megabytes on stdout and on stderr at once, byte for byte") {
  require_jails();
  const support::TempDir folder;
  Call call{.args = {"exec", "--policy", roomy(folder), "--", "sh", "-c",
                     "cat >/tmp/all; cat /tmp/all >&2 & cat /tmp/all; wait"}};
  call.input = every_byte(20 << 20);
  const Ran ran = run(call);
  CHECK(ran.code == 0);
  CHECK((ran.out == call.input));
  CHECK((ran.err == call.input));
}

TEST_CASE("a payload that reads nothing does not hold up who writes to it") {
  require_jails();
  Call call{.args = {"exec", "--", "true"}};
  call.input = every_byte(4 << 20);
  CHECK(run(call, 5s).code == 0);
}

TEST_CASE("output comes when it is written, and stdin stays open meanwhile") {
  require_jails();
  const support::Leftovers leftovers;
  Call call{.args = {"exec", "--", "sh", "-c",
                     "printf 'question?'; read -r answer; echo \"so $answer\"; sleep 30"}};
  support::Child child(call, support::Child::Input::kHeld);
  REQUIRE(child.says("question?"));
  child.write("yes\n");
  REQUIRE(child.says("so yes\n"));
  child.signal(SIGINT);
  const Ran ran = child.finish();
  CHECK(ran.wall < 15s);
  CHECK(ran.code == 130);
  CHECK(line(ran) == "sandglass: stopped: interrupted: it was interrupted by SIGINT");
  CHECK(leftovers.found() == "");
}

TEST_CASE("what a pipeline sends us ends the payload as a person would expect") {
  require_jails();
  for (const int signal : {SIGTERM, SIGHUP}) {
    const support::Leftovers leftovers;
    support::Child child({.args = {"exec", "--", "sh", "-c", "echo started; sleep 30"}});
    REQUIRE(child.says("started"));
    child.signal(signal);
    const Ran ran = child.finish();
    CHECK(ran.code == 128 + signal);
    CHECK(ran.wall < 10s);
    CHECK(leftovers.found() == "");
  }
}

TEST_CASE("who ignores our interrupt is killed after the grace, and at once by a second one") {
  require_jails();
  const support::Leftovers leftovers;
  for (const int interrupts : {1, 2}) {
    support::Child child({.args = {"exec", "--", "sh", "-c",
                                   "trap '' INT; echo started; sleep 30; echo 'not reached'"}});
    REQUIRE(child.says("started"));
    for (int i = 0; i < interrupts; ++i) {
      child.signal(SIGINT);
      std::this_thread::sleep_for(50ms);
    }
    const Ran ran = child.finish();
    CHECK(ran.code == 130);
    CHECK(ran.out == "started\n");
    CHECK(ran.wall < 10s);
  }
  CHECK(leftovers.found() == "");
}

TEST_CASE("an interrupt that our caller ignores stays ignored") {
  require_jails();
  Call call{.args = {"exec", "--", "sh", "-c", "echo started; sleep 0.5; echo done"}};
  call.before_exec = [] { (void)::signal(SIGINT, SIG_IGN); };
  support::Child child(call);
  REQUIRE(child.says("started"));
  child.signal(SIGINT);
  const Ran ran = child.finish();
  CHECK(ran.code == 0);
  CHECK(ran.out == "started\ndone\n");
}

TEST_CASE("a reader that goes away ends the run, quietly") {
  require_jails();
  Call call{.args = {"-c", "set -o pipefail; \"$BIN\" exec -- yes | head -c 4; echo \" $?\""}};
  call.program = "/bin/bash";
  call.env = {"BIN=" + support::sandglass_path()};
  const Ran ran = run(call, 10s);
  CHECK(ran.out == "y\ny\n 141\n");
  CHECK(ran.err == "");
  // A reader that has gone before the first byte.
  call.args = {"-c",
               "for i in {1..20}; do \"$BIN\" exec -- yes | true; "
               "echo -n \"${PIPESTATUS[0]} \"; done"};
  const Ran early = run(call);
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "141 ";
  CHECK(early.out == expected);
  CHECK(early.err == "");
}

TEST_CASE("a full device at stdout is our failure, and says so") {
  require_jails();
  Call call{.args = {"exec", "--", "echo", "hello"}};
  call.before_exec = [] { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), 1); };
  for (int i = 0; i < 20; ++i) {  // it may be noticed before we know that the payload has started
    const Ran ran = run(call);
    CHECK(ran.code == 125);
    CHECK(line(ran) == "sandglass: cannot write to stdout: ENOSPC; see where it leads");
  }
}

TEST_CASE("closed stdin, stdout and stderr are not mistaken for files of ours") {
  require_jails();
  Call call{.args = {"exec", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 7"}};
  call.before_exec = [] { ::close_range(0, 2, 0); };
  CHECK(run(call).code == 7);
}

TEST_CASE("the cap truncates and says so, and it does not kill, and our memory does not grow") {
  require_jails();
  const std::string code =
      "import sys\n"
      "for stream in sys.stdout, sys.stderr:\n"
      "    for i in range(3000): stream.write('x' * 9999 + '\\n')\n"
      "    stream.flush()\n"
      "print('the end', file=sys.stderr)\n"
      "sys.exit(5)\n";
  const Ran ran = run({"run", "--output=4K", "-c", code});
  CHECK(ran.code == 5);
  CHECK(ran.out == std::string(4096, 'x'));
  CHECK(ran.err == std::string(4096, 'x') +
                       "sandglass: stdout was cut at 4K of 28.6M (limits.output)\n"
                       "sandglass: stderr was cut at 4K of 28.6M (limits.output)\n");
  const auto object = document(run({"run", "--json", "--output=4K", "-c", code}));
  CHECK(text(object, "outcome") == "exited");
  CHECK(object.at("truncated").at("stdout") == true);
  CHECK(object.at("truncated").at("stderr") == true);
  CHECK(object.at("produced").at("stdout") == 30'000'000);
  CHECK(text(object, "stdout") == std::string(4096, 'x'));
}

TEST_CASE("endless output is read and dropped until the time limit") {
  require_jails();
  const support::Leftovers leftovers;
  support::Child child({.args = {"exec", "--wall-time=2s", "--", "sh", "-c", "echo go; yes"}});
  REQUIRE(child.says("go"));
  std::this_thread::sleep_for(1s);
  CHECK(support::rss_kib(child.pid()) < (support::kSanitized ? 256L : 64L) * 1024);
  const Ran ran = child.finish();
  CHECK(ran.code == 124);
  CHECK(ran.wall < 8s);
  CHECK(ran.out.size() == 1 << 20);
  CHECK(contains(ran.err,
                 "sandglass: timeout: timed_out: it ran for longer than the wall-clock limit of "));
  CHECK(leftovers.found() == "");
}

TEST_CASE("output that is not text survives JSON") {
  require_jails();
  const auto object = report({"exec", "--json", "--", "printf", "a\\377\\000b\\033[31m"});
  CHECK(text(object, "stdout_base64") == "Yf8AYhtbMzFt");
  CHECK(text(object, "stderr") == "");
  CHECK_FALSE(object.contains("stderr_base64"));
  const Ran raw = run({"exec", "--json", "--", "printf", "\\303\\251 \\033 \\177"});
  for (const char c : raw.out) CHECK((c == '\n' || (c >= ' ' && c <= '~')));  // plain ASCII
  CHECK(text(document(raw), "stdout") == "\xc3\xa9 \x1b \x7f");
}
