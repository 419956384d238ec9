#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

TEST_CASE("an unknown key names its place and the nearest known one") {
  CHECK(parse_error("name = \"p\"\n[limits]\n  memroy = \"1G\"\n") ==
        "p.toml:3:3: limits.memroy: unknown key; did you mean \"memory\"?");
  CHECK(parse_error("name = \"p\"\n[limit]\n") ==
        "p.toml:2:2: limit: unknown key; did you mean \"limits\"?");
  CHECK(parse_error("name = \"p\"\n[network]\nzzzzzzzz = 1\n") ==
        "p.toml:3:1: network.zzzzzzzz: unknown key; known here: mode, loopback");
}

TEST_CASE("a wrong type says what it must be") {
  CHECK(parse_error("name = 7\n") ==
        "p.toml:1:8: name: is a whole number; it must be a string in quotes");
  CHECK(parse_error("name = \"p\"\nlimits = 7\n") ==
        "p.toml:2:10: limits: is a whole number; it must be a table");
  CHECK(parse_error("name = \"p\"\n[syscalls]\nallow = \"@base\"\n") ==
        "p.toml:3:9: syscalls.allow: is a string; it must be a list, e.g. [\"a\"]");
  CHECK(parse_error("name = \"p\"\n[syscalls]\nallow = [\"@base\", 7]\n") ==
        "p.toml:3:19: syscalls.allow[1]: is a whole number; it must be a string in quotes");
  CHECK(parse_error("name = \"p\"\n[files]\ndevpts = \"yes\"\n") ==
        "p.toml:3:10: files.devpts: is a string; it must be true or false");
  CHECK(parse_error("name = \"p\"\n[limits]\nprocesses = \"64\"\n") ==
        "p.toml:3:13: limits.processes: is a string; it must be a whole number");
}

TEST_CASE("a wrong unit or range says what to write") {
  CHECK(parse_error("name = \"p\"\n[limits]\nmemory = 512\n") ==
        "p.toml:3:10: limits.memory: is a bare number; write a size with its unit, e.g. \"512M\"");
  CHECK(parse_error("name = \"p\"\n[limits]\nwall_time = 10.5\n") ==
        "p.toml:3:13: limits.wall_time: is a bare number; write a duration with its unit, e.g. "
        "\"30s\"");
  CHECK(
      parse_error("name = \"p\"\n[limits]\nmemory = \"12Q\"\n") ==
      "p.toml:3:10: limits.memory: \"12Q\" has an unknown unit; units are K, M, G or T (powers of "
      "1024)");
  CHECK(parse_error("name = \"p\"\n[limits]\nprocesses = 0\n") ==
        "p.toml:3:13: limits.processes: 0 is too small; the least is 1");
  CHECK(parse_error("name = \"p\"\n[limits]\nprocesses = -1\n") ==
        "p.toml:3:13: limits.processes: -1 is too small; the least is 1");
}

TEST_CASE("a wrong word lists the right ones") {
  CHECK(parse_error("name = \"p\"\nmode = \"open\"\n") ==
        "p.toml:2:8: mode: \"open\" is not one of \"jail\", \"restricted\"");
  CHECK(parse_error("name = \"p\"\n[files]\nproc = \"all\"\n") ==
        "p.toml:3:8: files.proc: \"all\" is not one of \"none\", \"own\", \"masked\"");
  CHECK(parse_error("name = \"p\"\n[network]\nmode = \"all\"\n") ==
        "p.toml:3:8: network.mode: \"all\" is not offered yet; the only mode is \"none\"");
}

TEST_CASE("an empty file and a file without a name") {
  CHECK(
      parse_error("") ==
      "p.toml:1:1: the policy is empty; it needs at least name and extends, e.g.  name = \"mine\"  "
      "extends = \"standard\"");
  CHECK(parse_error("why = \"x\"\n") == "p.toml:1:1: name is missing; write  name = \"mine\"");
}

TEST_CASE("a key that stands twice is refused at the second") {
  CHECK(parse_error("name = \"p\"\nname = \"q\"\n").starts_with("p.toml:2:"));
  CHECK(parse_error("name = \"p\"\nname = \"q\"\n")
            .ends_with("; a key may stand only once, remove one of the two"));
  CHECK(parse_error("name = \"p\"\n[limits]\n[limits]\n")
            .ends_with("; a key may stand only once, remove one of the two"));
}

TEST_CASE("lists add and scalars replace") {
  const std::string parent =
      "name = \"a\"\n[limits]\nmemory = \"1G\"\ncpu_time = \"1s\"\n"
      "[syscalls]\nallow = [\"@base\", \"@files\"]\ndeny = [\"flock\"]\n"
      "[files]\nread_only = [\"/usr\"]\nscratch = [{ path = \"/tmp\", size = \"1M\", inodes = 20 "
      "}]\n"
      "[interpreters.python]\ncommand = [\"/usr/bin/python3\"]\npreload = [\"numpy\"]\n"
      "env = { A = \"1\", B = \"2\" }\n";
  const std::string child =
      "name = \"b\"\nextends = \"a\"\n[limits]\nmemory = \"2G\"\n"
      "[syscalls]\nallow = [\"@time\", \"@base\", \"flock\"]\n"
      "[files]\nread_only = [\"/opt/x\", { source = \"/srv/u\", target = \"/usr\", exec = false "
      "}]\n"
      "scratch = [{ path = \"/tmp\", size = \"2M\" }, { path = \"/dev/shm\", size = \"1M\" }]\n"
      "[interpreters.python]\npreload = [\"pandas\"]\nenv = { B = \"3\" }\n";
  Policy p;
  Places places;
  REQUIRE(Document::read(parent, "a.toml")->apply(p, places));
  REQUIRE(Document::read(child, "b.toml")->apply(p, places));
  CHECK(p.name == "b");
  CHECK(p.extends == "a");
  CHECK(p.limits.memory == jail::mib(2048));
  CHECK(p.limits.cpu_time == Millis(1'000));
  CHECK(p.syscalls.allow == std::vector<std::string>{"@base", "@files", "@time", "flock"});
  CHECK(p.syscalls.deny.empty());  // lifted, since the child allows the very word
  REQUIRE(p.files.read_only.size() == 2);
  CHECK(p.files.read_only[0].source == "/srv/u");
  CHECK(p.files.read_only[0].exec == jail::Exec::kNoExec);
  CHECK(p.files.read_only[1].source == "/opt/x");
  REQUIRE(p.files.scratch.size() == 2);
  CHECK(p.files.scratch[0] == Tmpfs{"/tmp", jail::mib(2), 20, jail::Exec::kNoExec});
  const Interpreter& python = p.interpreters["python"];
  CHECK(python.command == std::vector<std::string>{"/usr/bin/python3"});
  CHECK(python.preload == std::vector<std::string>{"numpy", "pandas"});
  CHECK(python.env == std::map<std::string, std::string>{{"A", "1"}, {"B", "3"}});
  CHECK(places["limits.memory"] == "b.toml:4:10");
  CHECK(places["limits.cpu_time"] == "a.toml:4:12");
}

TEST_CASE("an empty preload drops what is inherited") {
  Policy p;
  Places places;
  const auto read = [&](const char* name, const std::string& list) {
    const std::string text =
        std::string("name = \"") + name + "\"\n[interpreters.python]\npreload = " + list + "\n";
    REQUIRE(Document::read(text, "f.toml")->apply(p, places));
  };
  read("a", "[\"numpy\", \"pandas\"]");
  read("b", "[]");
  CHECK(p.interpreters["python"].preload.empty());
  read("c", "[\"json\"]");
  CHECK(p.interpreters["python"].preload == std::vector<std::string>{"json"});
}

TEST_CASE("what a file itself denies stays denied") {
  Policy p;
  Places places;
  REQUIRE(Document::read("name = \"p\"\n[syscalls]\ndeny = [\"flock\"]\nallow = [\"flock\"]\n", "p")
              ->apply(p, places));
  CHECK(p.syscalls.deny == std::vector<std::string>{"flock"});
}
