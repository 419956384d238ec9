#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

namespace {

// A policy that extends tight, with these lines; without the place in front of the error.
std::string wrong(const std::string& lines) {
  return own_error("extends = \"tight\"\nwhy = \"x\"\n" + lines);
}

}  // namespace

TEST_CASE("folders in memory fit into the memory") {
  CHECK(wrong("[files]\nworkdir = { size = \"2G\" }\n") ==
        "mine.toml:5:20: files.workdir.size: 2G is more than limits.memory (1G); the workdir lives "
        "in memory");
  CHECK(
      wrong("[files]\nscratch = [{ path = \"/tmp\", size = \"2G\" }]\n") ==
      "mine.toml:5:12: files.scratch /tmp: 2G is more than limits.memory (1G); it lives in memory");
  CHECK(wrong("[files]\nmax_file = \"300M\"\n") ==
        "mine.toml:5:12: files.max_file: 300M is out of range; it may be 1B to 256M");
}

TEST_CASE("binds that lead out of the jail are refused") {
  for (const char* path : {"/proc", "/sys/fs", "/dev", "/run", "/run/docker.sock"})
    CHECK(wrong("[files]\nread_only = [\"" + std::string(path) + "\"]\n")
              .starts_with("mine.toml:5:14: files.read_only " + std::string(path) + ": \"" + path +
                           "\" is never bound: "));
  CHECK(wrong("[files]\nread_only = [\"/\"]\n") ==
        "mine.toml:5:14: files.read_only /: \"/\" would show the whole host; name the folders that "
        "are needed");
  CHECK(wrong("[files]\nread_only = [\"/usr/../etc\"]\n") ==
        "mine.toml:5:14: files.read_only /usr/../etc: \"/usr/../etc\" contains \"..\"");
  CHECK(wrong("[files]\nread_only = [\"opt\"]\n") ==
        "mine.toml:5:14: files.read_only opt: \"opt\" is not absolute; begin with \"/\"");
  CHECK(wrong("[files]\nread_only = [\"/opt/\"]\n") ==
        "mine.toml:5:14: files.read_only /opt/: \"/opt/\" ends in \"/\"; leave that out");
  CHECK(wrong("[files]\nread_only = [\"/opt//x\"]\n").ends_with("contains \"//\""));
  CHECK(wrong("[files]\nread_only = [{ source = \"/opt\", target = \"/mnt/data/x\" }]\n") ==
        "mine.toml:5:14: files.read_only /mnt/data/x: overlaps the workdir \"/mnt/data\"");
  CHECK(wrong("[files]\nread_only = [{ source = \"/opt\", target = \"/proc/x\" }]\n")
            .find("target: \"/proc/x\" is never bound") != std::string::npos);
}

TEST_CASE("the host's own data needs a reason") {
  const std::string lines = "[files]\nread_only = [\"/home/me/data\"]\n";
  CHECK(wrong(lines) ==
        "mine.toml:5:13: unsafe.host_files: a reason is missing: under this policy files from "
        "places "
        "where a host keeps its own data; write  [unsafe]  host_files = \"why\"");
  CHECK(wrong("[files]\nread_only_if_present = [\"/home/me\"]\n").starts_with("mine.toml:5:24: "));
  CHECK(wrong("[files]\nproc = \"masked\"\n").starts_with("mine.toml:5:8: unsafe.whole_proc: "));
  CHECK(wrong(lines + "[unsafe]\nhost_files = \"the data set\"\n").empty());
  CHECK(wrong("[files]\nread_only = [\"/etc/fonts\"]\n").empty());
}

TEST_CASE("each weakening needs a reason") {
  const auto asks = [](const std::string& error, const std::string& key) {
    return error.find("unsafe." + key + ": a reason is missing") != std::string::npos;
  };
  CHECK(asks(wrong("[syscalls]\nallow = [\"@jit\"]\n"), "writable_code"));
  CHECK(asks(wrong("[syscalls]\nallow = [\"@locks\"]\n"), "shared_locks"));
  CHECK(asks(wrong("[syscalls]\nallow = [\"flock\"]\n"), "shared_locks"));
  CHECK(asks(wrong("[syscalls]\nallow = [\"@watching\"]\n"), "watched_files"));
  CHECK(asks(wrong("[syscalls]\nallow = [\"@inet\"]\n"), "inet_sockets"));
  CHECK(asks(wrong("[files]\nworkdir = { exec = true }\n"), "exec_from_workdir"));
  CHECK(
      asks(wrong("[files]\nscratch = [{ path = \"/tmp\", exec = true }]\n"), "exec_from_scratch"));
  CHECK(asks(wrong("[files]\nproc = \"masked\"\n"), "whole_proc"));
  CHECK(asks(wrong("[files]\ndevices = [\"/dev/kvm\"]\n"), "extra_devices"));
  CHECK(wrong("[files]\nproc = \"own\"\n").empty());
  CHECK(wrong("[syscalls]\nallow = [\"@jit\"]\n[unsafe]\nwritable_code = \"  \"\n") ==
        "mine.toml:7:17: unsafe.writable_code: is empty; say why you want it");
  CHECK(wrong("[unsafe]\nwritable_cod = \"x\"\n") ==
        "mine.toml:5:16: unsafe.writable_cod: unknown key; did you mean \"writable_code\"?");
}

TEST_CASE("the words of syscalls are checked where they stand") {
  CHECK(wrong("[syscalls]\nallow = [\"ptrace\"]\n") ==
        "mine.toml:5:10: syscalls.allow ptrace: \"ptrace\" is on the never list: rewrites other "
        "processes, also what a filter has checked; no policy may allow it");
  CHECK(wrong("[syscalls]\nallow = [\"io_uring_setup\"]\n").find("never list") !=
        std::string::npos);
  CHECK(wrong("[syscalls]\nallow = [\"@flies\"]\n") ==
        "mine.toml:5:10: syscalls.allow @flies: there is no set \"@flies\"; did you mean "
        "\"@files\"?");
  CHECK(wrong("[syscalls]\nallow = [\"files\"]\n") ==
        "mine.toml:5:10: syscalls.allow files: \"files\" is not a system call of x86-64; write "
        "\"@files\" for the set");
  CHECK(wrong("[syscalls]\nallow = [\"opnat\"]\n")
            .ends_with("\"opnat\" is not a system call of x86-64; sets are written \"@files\""));
  CHECK(wrong("[syscalls]\nallow = [\"clone\"]\n") ==
        "mine.toml:5:10: syscalls.allow clone: \"clone\" is allowed with tests on its arguments "
        "only; allow a set: \"@threads\", \"@processes\"");
  CHECK(wrong("[syscalls]\ndeny = [\"restart_syscall\"]\n")
            .ends_with("lacks restart_syscall, without which nothing runs; allow \"@base\" and "
                       "\"@signals\""));
  CHECK(wrong("[syscalls]\ndeny = [\"read\"]\n")
            .ends_with("lacks read, without which nothing runs; allow \"@files\""));
  CHECK(wrong("[syscalls]\ndeny = [\"@files\"]\n")
            .ends_with("lacks read, without which nothing runs; allow \"@files\""));
  CHECK(wrong("[syscalls]\nallow = [\"pipe2\"]\n").empty());
}

TEST_CASE("interpreters must be there to be seen") {
  CHECK(
      wrong("[interpreters.lua]\ncommand = [\"/opt/lua\"]\nextension = \".lua\"\npackage = "
            "\"lua5.4\"\n") ==
      "mine.toml:5:11: interpreters.lua.command: \"/opt/lua\" is not below any of files.read_only");
  CHECK(wrong("[interpreters.lua]\nextension = \".lua\"\n")
            .ends_with("interpreters.lua: command is missing, e.g. [\"/usr/bin/python3\"]"));
  CHECK(wrong("[interpreters.python]\nextension = \"py\"\n").ends_with("must be like \".py\""));
}

TEST_CASE("limits are there and in range") {
  CHECK(own_error("why = \"x\"\n[session]\nidle = \"1m\"\nlifetime = \"1h\"\nmax_sessions = 1\n") ==
        "policy \"mine\": limits.memory: is missing; it may be 16M to 16T");
  CHECK(wrong("[limits]\nmemory = \"1M\"\n") ==
        "mine.toml:5:10: limits.memory: 1M is out of range; it may be 16M to 16T");
  CHECK(wrong("[limits]\nopen_files = 3\n") ==
        "mine.toml:5:14: limits.open_files: 3 is out of range; it may be 16 to 65536");
  CHECK(wrong("[session]\nidle = \"5h\"\n") ==
        "mine.toml:5:8: session.idle: 5h is longer than session.lifetime (4h)");
}

TEST_CASE("restricted starts nothing, so it describes nothing") {
  const std::string base = "why = \"x\"\nmode = \"restricted\"\n";
  CHECK(own_error(base).empty());
  CHECK(own_error(base + "[limits]\nmemory = \"1G\"\n").find("starts no process: remove [files]") !=
        std::string::npos);
  CHECK(own_error(base + "[arithmetic]\noperators = [\"^\"]\n") ==
        "mine.toml:5:13: arithmetic.operators: \"^\" is not one of %, //, **");
  CHECK(own_error(base + "[arithmetic]\nfunctions = [\"sqrt\", \"sum\"]\n").empty());
  CHECK(wrong("[arithmetic]\nfunctions = [\"sqrt\"]\n")
            .ends_with("arithmetic: goes with mode = \"restricted\" only"));
}

TEST_CASE("names and the fallback") {
  CHECK(wrong("fallback = \"loose\"\n") ==
        "mine.toml:4:12: fallback: can only be \"restricted\"; leave it out to refuse instead");
  CHECK(own("extends = \"tight\"\nfallback = \"restricted\"\n").fallback == "restricted");
  CHECK(error_of(Folder().write("x.toml", "name = \"X Y\"\nextends = \"tight\"\n")) != "");
}
