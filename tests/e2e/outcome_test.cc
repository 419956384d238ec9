// Exit codes, and what --json says of a run.
#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/support/require.h"

using namespace e2e;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

Ran shell(const std::string& script, const Words& options = {}) {
  Words args = {"exec"};
  args.insert(args.end(), options.begin(), options.end());
  args.insert(args.end(), {"--", "sh", "-c", script});
  return run(args);
}

const json::object& only_denied(const json::object& object) {
  const json::array& denied = object.at("denied").as_array();
  INFO(json::serialize(denied));
  REQUIRE(denied.size() == 1);
  return denied[0].as_object();
}

}  // namespace

TEST_CASE("the program's own exit code") {
  require_jails();
  for (const int code : {0, 1, 3, 124, 125, 255}) {
    const Ran ran = shell("exit " + std::to_string(code));
    CHECK(ran.code == code);
    CHECK(ran.err == "");
  }
}

TEST_CASE("not found, and not to be run") {
  require_jails();
  const Ran missing = run({"exec", "--", "no-such-program"});
  CHECK(missing.code == 127);
  CHECK(line(missing) == "sandglass: no-such-program: exec: ENOENT (not found inside the jail)");
  const Ran folder = run({"exec", "--", "/usr/bin"});
  CHECK(folder.code == 126);
  CHECK(line(folder) == "sandglass: /usr/bin: exec: EACCES (not executable inside the jail)");
  const json::object object = report({"exec", "--json", "--", "/no/such"});
  const json::object& setup = object.at("error").at("setup").as_object();
  CHECK(text(setup, "step") == "exec");
  CHECK(text(setup, "errno") == "ENOENT");
}

TEST_CASE("signals are 128 and their number") {
  require_jails();
  const std::pair<const char*, int> signals[] = {{"TERM", 143}, {"KILL", 137}, {"SEGV", 139},
                                                 {"INT", 130},  {"PIPE", 141}, {"ABRT", 134}};
  for (const auto& [name, code] : signals) {
    const Ran ran = shell(std::string("kill -") + name + " $$");
    CHECK(ran.code == code);
    CHECK(line(ran) == std::string("sandglass: failure: signalled: it was ended by SIG") + name);
  }
  const json::object object = document(shell("kill -SEGV $$", {"--json"}));
  CHECK(text(object, "outcome") == "signalled");
  CHECK(text(object, "signal") == "SIGSEGV");
  CHECK(object.at("status").is_null());
  CHECK(object.at("exit_code") == 139);
}

TEST_CASE("the time limits: 124, and which one it was") {
  require_jails();
  const Ran slept = shell("sleep 30", {"--wall-time=300ms"});
  CHECK(slept.code == 124);
  CHECK(slept.wall < 5s);
  CHECK(line(slept) ==
        "sandglass: timeout: timed_out: it ran for longer than the wall-clock limit of 300ms");
  const Ran burnt = shell("while :; do :; done", {"--cpu-time=300ms", "--json"});
  CHECK(burnt.code == 124);
  CHECK(burnt.wall < 8s);
  const json::object object = document(burnt);
  CHECK(text(object, "outcome") == "cpu_exceeded");
  const json::object& limit = object.at("limit").as_object();
  CHECK(text(limit, "name") == "cpu_time");
  CHECK(limit.at("value") == 300);
  CHECK(limit.at("peak").as_int64() >= 300);
  CHECK(text(limit, "unit") == "ms");
}

TEST_CASE("memory: 137 and its outcome, not a mere signal") {
  require_jails();
  support::require(support::Feature::kMemoryCgroup);
  const Ran ran = run({"run", "--json", "--memory=64M", "-c", "x = bytearray(10 ** 9)"});
  CHECK(ran.code == 137);
  const json::object object = document(ran);
  CHECK(text(object, "outcome") == "out_of_memory");
  CHECK(object.at("limit").at("value") == 64 << 20);
  CHECK(object.at("limit").at("peak").as_int64() > 50 << 20);
  // And a payload that only says so with its exit code is not believed.
  CHECK(text(document(shell("exit 137", {"--json"})), "outcome") == "exited");
  CHECK(text(document(shell("exit 124", {"--json"})), "outcome") == "exited");
}

TEST_CASE("a file over the limit of one file") {
  require_jails();
  const json::object object =
      document(shell("head -c 3000000 /dev/zero >f", {"--json", "--file-size=1M"}));
  CHECK(object.at("exit_code") != 0);
  const json::object direct =
      report({"run", "--json", "--file-size=1M", "-c",
              std::string("import signal; signal.signal(signal.SIGXFSZ, "
                          "signal.SIG_DFL); open('f', 'wb').write(b'x' * 3000000)")});
  CHECK(text(direct, "outcome") == "output_limit");
  CHECK(text(direct, "signal") == "SIGXFSZ");
  CHECK(direct.at("limit").at("value") == 1 << 20);
}

TEST_CASE("usage is measured, and from a source that is named") {
  require_jails();
  const auto object = report({"run", "--json", "-c",
                              "import time\nx = bytearray(40 << 20)\ntime.sleep(0.3)\n"
                              "end = time.process_time() + 0.2\n"
                              "while time.process_time() < end: pass\n"});
  CHECK(text(object, "outcome") == "ok");
  const json::object& usage = object.at("usage").as_object();
  CHECK(usage.at("wall_ms").as_int64() >= 500);
  CHECK(usage.at("wall_ms").as_int64() < 10'000);
  CHECK(usage.at("cpu_ms").as_int64() >= 200);
  CHECK(usage.at("cpu_ms").as_int64() < usage.at("wall_ms").as_int64());
  CHECK(usage.at("peak_memory_bytes").as_int64() > 40 << 20);
  CHECK(usage.at("peak_memory_bytes").as_int64() < 200 << 20);
  const std::string from = text(usage, "peak_memory_from");
  CHECK((from == "cgroup v1" || from == "cgroup v2" || from == "rlimit and sampling"));
  CHECK(from == text(object.at("limits").at("memory").as_object(), "enforced_by"));
}

TEST_CASE("each field of the document is there") {
  require_jails();
  const auto object = report({"run", "--json", "-c", "print('hello')"});
  Words names;
  for (const auto& field : object) names.emplace_back(field.key());
  CHECK(names == Words{"outcome", "ending",          "exit_code",    "status",           "signal",
                       "text",    "state_preserved", "limit",        "truncated",        "produced",
                       "usage",   "denied",          "denied_total", "denied_throttled", "stdout",
                       "stderr",  "files",           "error",        "policy",           "language",
                       "limits"});
  CHECK(object.at("status") == 0);
  CHECK(text(object, "stdout") == "hello\n");
  CHECK(object.at("produced").at("stdout") == 6);
  CHECK(text(object, "policy") == "standard");
  CHECK(text(object, "language") == "python");
  CHECK(object.at("error").is_null());
  CHECK(object.at("files").is_null());
  CHECK(object.at("denied").as_array().empty());
  const json::object& limits = object.at("limits").as_object();
  for (const char* name : {"memory", "cpu_time", "wall_time", "processes", "open_files",
                           "file_size", "workdir_size", "output"})
    CHECK(limits.at(name).at("value").as_int64() > 0);
}

TEST_CASE("a refused call is named, decoded, counted, and comes with the line that allows it") {
  require_jails();
  const Words words = {"run",
                       "--json",
                       "--policy",
                       "tight",
                       "-c",
                       std::string("import socket\nfor i in range(3):\n"
                                   "    try: socket.socket()\n    except PermissionError: pass\n")};
  const auto object = report(words);
  CHECK(text(object, "outcome") == "ok");
  const json::object& denied = only_denied(object);
  CHECK(text(denied, "syscall") == "socket");
  CHECK(text(denied, "args") == "AF_INET, SOCK_STREAM");
  CHECK(denied.at("count") == 3);
  CHECK(text(denied, "rule") == "inet");
  CHECK(text(denied, "allow_with") ==
        "[syscalls] allow = [\"@inet\"] and [unsafe] inet_sockets = \"your reason\"");
  CHECK(object.at("denied_total") == 3);
  const Ran plain = run({"run", "--policy", "tight", "-c",
                         "import os\ntry: os.fork()\nexcept PermissionError: pass\n"});
  CHECK(plain.code == 0);
  CHECK(line(plain) ==
        "sandglass: denied clone(SIGCHLD) x1: rule processes; allowed by [syscalls] allow = "
        "[\"@processes\"]");
}

// "[a] x = 1 and [b] y = 2" as the lines of a policy.
std::string pasted(std::string advice) {
  for (std::size_t at = advice.find(" and ["); at != std::string::npos; at = advice.find(" and ["))
    advice.replace(at, 5, "\n");
  for (std::size_t at = advice.find("] "); at != std::string::npos; at = advice.find("] ", at))
    advice.replace(at, 2, "]\n");
  return advice + "\n";
}

TEST_CASE("the line that is said to allow a call does allow it") {
  require_jails();
  const support::TempDir folder;
  const std::string codes[] = {
      "import os\npid = os.fork()\nif pid == 0: os._exit(7)\n"
      "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n",
      "import socket\nsocket.socket().close()\nprint(7)\n"};
  for (const std::string& code : codes) {
    const auto refused = report({"run", "--json", "--policy", "tight", "-c", code});
    CHECK(text(refused, "outcome") == "exited");
    const std::string advice = pasted(text(only_denied(refused), "allow_with"));
    INFO(advice);
    write(folder / "mine.toml",
          "name = \"mine\"\nextends = \"tight\"\nwhy = \"as advised\"\n" + advice);
    const Ran ran = run({"run", "--policy", folder / "mine.toml", "-c", code});
    CHECK(ran.out == "7\n");
    CHECK(ran.err == "");
  }
}
