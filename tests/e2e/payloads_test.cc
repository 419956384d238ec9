// Payloads on their worst behaviour. Each run must end, in time, with the right outcome word and
// exit code, and leave nothing behind.
#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/support/require.h"

using namespace e2e;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

Words python(const std::string& code, const Words& options = {}) {
  Words args = {"run", "--json", "-c", code};
  args.insert(args.end(), options.begin(), options.end());
  return args;
}

struct Expected {
  const char* word;
  int code;
};

json::object ends(const Words& args, const Expected& expected,
                  std::chrono::milliseconds bound = 10s) {
  const Ran ran = run(Call{.args = args}, bound);
  json::object object = document(ran);
  INFO(ran.out.substr(0, 3000));
  CHECK(text(object, "outcome") == expected.word);
  CHECK(ran.code == expected.code);
  CHECK(object.at("exit_code") == expected.code);
  return object;
}

// Whether the jail's processes are counted by a cgroup, which then knows that the limit was met.
bool counted(const json::object& object) {
  return text(object.at("limits").at("processes").as_object(), "enforced_by") !=
         "rlimit and sampling";
}

}  // namespace

TEST_CASE("it closes all its descriptors") {
  require_jails();
  ends(python("import os\nos.closerange(0, 4096)\nos._exit(7)\n"), {"exited", 7});
  ends(payload({"--json"}, {"closes_its_fds"}), {"exited", 7});
}

TEST_CASE("it daemonises, and the grandchild holds stdout") {
  require_jails();
  const json::object object = ends(payload({"--json"}, {"daemonises"}), {"exited", 4}, 5s);
  CHECK(text(object, "stdout") == "ready yes\n");
  ends(python("import subprocess\nsubprocess.Popen(['sleep', '60'])\nprint('done')\n"), {"ok", 0},
       5s);
}

TEST_CASE("it ignores the interrupt, or stops itself") {
  require_jails();
  ends(python("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
              "while True: time.sleep(1)\n",
              {"--wall-time=500ms"}),
       {"timed_out", 124}, 5s);
  ends(payload({"--json", "--wall-time=500ms"}, {"stops_itself"}), {"timed_out", 124}, 5s);
  const json::object polite =
      ends(python("import time\ntry: time.sleep(30)\nexcept KeyboardInterrupt: print('saved')\n",
                  {"--wall-time=500ms"}),
           {"timed_out", 124}, 5s);
  CHECK(text(polite, "stdout") == "saved\n");
}

TEST_CASE("it forks for ever") {
  require_jails();
  const json::object object =
      ends(payload({"--json", "--processes=20"}, {"forks_forever"}), {"ok", 0});
  CHECK(text(object, "stdout") == "end EAGAIN\nchildren 19\n");
  ends(payload({"--json", "--processes=30", "--wall-time=1s"}, {"forks_forever", "bomb"}),
       {"timed_out", 124}, 8s);
  const Ran ran =
      run({"run", "--json", "--processes=20", "-c", "import os\nwhile True: os.fork()"});
  const json::object failed = document(ran);
  CHECK(text(failed, "outcome") == (counted(failed) ? "process_limit" : "exited"));
  CHECK(contains(text(failed, "stderr"), "BlockingIOError"));
  CHECK(ran.code == 1);
  if (counted(failed)) CHECK(failed.at("limit").at("value") == 20);
}

TEST_CASE("it starts threads for ever") {
  require_jails();
  for (const char* policy : {"tight", "standard"}) {
    const json::object object =
        ends(python("import threading, time, os\nn = 0\n"
                    "try:\n"
                    "    while True:\n"
                    "        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n"
                    "        n += 1\n"
                    "except RuntimeError: print(n, flush=True)\nos._exit(0)\n",
                    {"--processes=20", "--policy", policy}),
             {"ok", 0});
    CHECK(text(object, "stdout") == "19\n");
  }
}

TEST_CASE("it fills memory, alone and by several") {
  require_jails();
  const json::object alone =
      document(run(python("x = []\nwhile True: x.append(bytearray(1 << 20))\n", {"--memory=64M"})));
  if (text(alone, "outcome") == "out_of_memory") {
    CHECK(alone.at("exit_code") == 137);
  } else {
    // Without a cgroup the kernel may refuse the process memory before a sample sees too much of
    // it.
    CHECK_FALSE(counted(alone));
    CHECK(contains(text(alone, "stderr"), "MemoryError"));
    CHECK(text(alone, "outcome") == "exited");
  }
  ends(payload({"--json", "--memory=64M"}, {"fills_memory", "40", "3"}), {"out_of_memory", 137});
  // What lies in a writable folder is memory.
  ends(payload({"--json", "--memory=64M"}, {"fills_folder_and_waits", "/tmp"}),
       {"out_of_memory", 137});
}

TEST_CASE("it fills the workdir, by size and by number") {
  require_jails();
  const json::object size =
      ends(python("with open('f', 'wb') as f:\n    while True: f.write(b'x' * 65536)\n",
                  {"--workdir-size=1M"}),
           {"disk_full", 1});
  CHECK(contains(text(size, "stderr"), "No space left on device"));
  CHECK(text(size.at("limit").as_object(), "name") == "workdir.size");
  CHECK(size.at("limit").at("value") == 1 << 20);
  const json::object number = ends(
      python("import os\ni = 0\nwhile True:\n    os.close(os.open(str(i), os.O_CREAT)); i += 1\n",
             {"--policy", "tight"}),
      {"disk_full", 1});
  CHECK(text(number.at("limit").as_object(), "name") == "workdir.inodes");
  CHECK(number.at("limit").at("value") == 16384);
}

TEST_CASE("it opens files for ever") {
  require_jails();
  for (const char* policy : {"tight", "standard"}) {
    const json::object object =
        ends(python("import os\nn = 3\n"
                    "try:\n    while True: os.open('/dev/null', 0); n += 1\n"
                    "except OSError as error: print(n, error.errno)\n",
                    {"--policy", policy}),
             {"ok", 0});
    const auto limit = object.at("limits").at("open_files").at("value").as_int64();
    CHECK(limit >= 256);
    CHECK(text(object, "stdout") == std::to_string(limit) + " 24\n");  // EMFILE
  }
}

TEST_CASE("it writes for ever, to both") {
  require_jails();
  const json::object object =
      ends({"exec", "--json", "--wall-time=1s", "--output=64K", "--", "sh", "-c", "yes & yes >&2"},
           {"timed_out", 124}, 8s);
  CHECK(text(object, "stdout").size() == 65536);
  CHECK(text(object, "stderr").size() == 65536);
  CHECK(object.at("produced").at("stdout").as_int64() > 1 << 20);
}

TEST_CASE("it makes refused calls for ever, at its own expense") {
  require_jails();
  const json::object object =
      ends(payload({"--json", "--wall-time=2s"}, {"floods_denied_calls", "1000000"}),
           {"timed_out", 124}, 8s);
  CHECK(object.at("denied_throttled") == true);
  CHECK(object.at("denied_total").as_int64() >= 1000);
  CHECK(object.at("denied_total").as_int64() < 20'000);
  REQUIRE(object.at("denied").as_array().size() == 1);
  CHECK(object.at("denied").as_array()[0].at("syscall") == "socket");
  CHECK(object.at("usage").at("cpu_ms").as_int64() < 2000);
}

TEST_CASE("it signals all that it can, and its parent") {
  require_jails();
  const json::object object = ends(python("import os, signal\n"
                                          "for pid in -1, 1, os.getppid():\n"
                                          "    for number in signal.SIGKILL, signal.SIGSTOP:\n"
                                          "        try: os.kill(pid, number)\n"
                                          "        except OSError: pass\n"
                                          "print('alive')\n"),
                                   {"ok", 0});
  CHECK(text(object, "stdout") == "alive\n");
}

TEST_CASE("it crashes") {
  require_jails();
  ends(python("import ctypes\nctypes.string_at(0)\n"), {"signalled", 139});
  ends({"exec", "--json", "--", "sh", "-c", "kill -ABRT $$"}, {"signalled", 134});
}

TEST_CASE("it breaks its limits down, and its pipes") {
  require_jails();
  ends(python("import os, fcntl\nfor fd in 0, 1, 2: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)\n"
              "os.write(1, b'x')\n"),
       {"ok", 0});
  ends(python("import resource, os\n"
              "for r in resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE:\n"
              "    resource.setrlimit(r, (0, 0))\n"
              "os._exit(3)\n"),
       {"exited", 3});
}
