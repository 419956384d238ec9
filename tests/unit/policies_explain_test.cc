#include "jail/syscalls.h"
#include "policies/explain.h"
#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

namespace {

SyscallAnswer why(const std::string& policy, const std::string& call) {
  return explain_syscall(find(policy), shipped().syscalls(), jail::syscall_number(call).value())
      .value();
}

std::string words(const std::string& policy) {
  return explain(find(policy), shipped().syscalls(), 50).value();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("show parses back to the same policy") {
  for (const std::string& name : shipped().names()) {
    Policy policy = find(name);
    const std::string text = show(policy);
    INFO(text);
    const auto document = Document::read(text, name + ".toml");
    REQUIRE(document);
    Policy again;
    Places places;
    const auto done = document->apply(again, places);
    if (!done) FAIL(done.error().text);
    policy.extends.clear();
    CHECK(again == policy);
    CHECK(validate(again, shipped().syscalls(), places));
  }
}

TEST_CASE("show quotes what needs quoting") {
  Policy policy = find("tight");
  policy.why = "a \"quoted\" back\\slash";
  policy.interpreters["python"].env["A.B \"C\""] = "x";
  Policy again;
  Places places;
  REQUIRE(Document::read(show(policy), "x.toml")->apply(again, places));
  CHECK(again == policy);
}

TEST_CASE("explain says what code can and cannot do") {
  const std::string tight = words("tight");
  CHECK(has(tight, "Can start threads. Cannot start processes or programs.\n"));
  CHECK(has(tight, "Cannot open sockets. There is no network.\n"));
  CHECK(has(tight, "Cannot make machine code while it runs"));
  CHECK(has(tight, "There is no /proc and no /sys.\n"));
  CHECK(has(tight, "Limits: memory 1G, CPU time 30s, wall time 10s, 64 threads and processes"));
  CHECK(has(tight, "Can reach 50 system calls; any other fails with EPERM and is reported.\n"));
  CHECK_FALSE(has(tight, "Unsafe"));
  const std::string loose = words("loose");
  CHECK(has(loose, "Can use TCP and UDP inside a network of its own, with loopback up."));
  CHECK(has(loose, "Unsafe: programs written to the workdir can be run. Reason: "));
  CHECK(has(words("standard"),
            "Can use local (AF_UNIX) sockets between its own processes; sockets in "
            "bound folders can be connected to. There is no network."));
  CHECK(words("restricted") ==
        "restricted: arithmetic only: numbers and + - * / ( ), no process, no interpreter.\n"
        "Starts no process at all: one arithmetic expression is evaluated. Beyond + - * /: "
        "nothing.\n");
}

TEST_CASE("a denied call leads to the line that would allow it") {
  CHECK(why("tight", "socket").rule == "local_sockets");
  CHECK(why("tight", "socket").text ==
        "socket is in the set @local_sockets: sockets between the jail's own processes, and those "
        "that "
        "lie in bound folders; abstract names are the network namespace's own. To allow it: "
        "[syscalls] allow = [\"@local_sockets\"].");
  CHECK(why("standard", "socket").rule == "inet");
  CHECK(has(why("standard", "socket").text,
            "socket is allowed with certain arguments only; the set "
            "@inet: "));
  CHECK(has(why("standard", "socket").text, "and [unsafe] inet_sockets = \"your reason\"."));
  CHECK(why("loose", "ptrace").rule == "never");
  CHECK(why("loose", "ptrace").text ==
        "ptrace is on the never list: rewrites other processes, also what a filter has checked. No "
        "policy may allow it.");
  CHECK(why("tight", "read").text == "read is allowed, whatever its arguments.");
  CHECK(has(why("loose", "socket").text, "no set allows other arguments."));
  CHECK(explain_syscall(find("tight"), shipped().syscalls(), 599).value().rule == "unknown");
}

TEST_CASE("what the mount table says of a path") {
  const auto tight = [](const char* path) { return explain_path(find("tight"), path); };
  CHECK(tight("/home/me/x").view == PathView::kHidden);
  CHECK(tight("/home/me/x").text == "/home/me/x is hidden: no entry of files.read_only shows it");
  CHECK(tight("/home/me/x").key == "files.read_only");
  CHECK(tight("data.csv").view == PathView::kWritable);
  CHECK(tight("/mnt/data/../../etc/shadow").view == PathView::kHidden);
  CHECK(tight("/usr/lib/x86_64-linux-gnu/libc.so.6").view == PathView::kReadOnly);
  CHECK(tight("/usr/lib/x86_64-linux-gnux").view == PathView::kHidden);
  CHECK(tight("/etc/passwd").view == PathView::kMade);
  for (const char* folder : {"/", "/etc", "/dev", "/mnt", "/run", "/usr"})
    CHECK(tight(folder).text ==
          std::string(folder) +
              " is a read-only folder made by Sandglass; only what the policy shows is in it");
  CHECK(tight("/var").view == PathView::kHidden);
  CHECK(explain_path(find("restricted"), "/etc").text == "/etc is hidden: no process is started");
  CHECK(tight("/proc/self/maps").text == "/proc/self/maps is hidden: files.proc = \"none\"");
  CHECK(tight("/dev/null").view == PathView::kDevice);
  CHECK(tight("/tmp/x").key == "files.scratch");
  CHECK(tight("/run/sandglass/code.py").view == PathView::kMade);
  CHECK(explain_path(find("standard"), "/proc/self/maps").view == PathView::kProc);
  CHECK(explain_path(find("standard"), "/usr/share/x").view == PathView::kReadOnly);
}
