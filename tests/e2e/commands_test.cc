// The commands beside run and exec: doctor, demo, policy, help.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/e2e.h"

using namespace e2e;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

// "Can reach 50 system calls" and "50 reachable system calls": the number.
int number_before(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  REQUIRE(at != std::string::npos);
  std::size_t begin = at;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  REQUIRE(begin < at);
  return std::stoi(text.substr(begin, at - begin));
}

Words demo_folders() {
  Words found;
  for (const auto& entry : fs::directory_iterator("/var/tmp")) {
    const std::string name = entry.path().filename();
    if (name.rfind("sandglass-demo-", 0) == 0) found.push_back(name);
  }
  return found;
}

}  // namespace

TEST_CASE("doctor's exit code is what its findings come to") {
  require_jails();
  const Ran ran = run({"doctor", "--json"});
  const json::object object = document(ran);
  bool required_are_there = true;
  bool all_have_words = true;
  for (const json::value& value : object.at("features").as_array()) {
    const json::object& feature = value.as_object();
    const bool here = text(feature, "here") == "yes";
    if (feature.at("required") == true && !here) required_are_there = false;
    if (text(feature, "layer").empty()) all_have_words = false;
    if (!here && text(feature, "lost").empty()) all_have_words = false;
  }
  CHECK(all_have_words);
  CHECK(object.at("features").as_array().size() > 15);
  const bool passed = object.at("trial").at("passed") == true;
  CHECK((ran.code == 0) == (required_are_there && passed));
  CHECK((object.at("standard_runs_fully") == true) == (ran.code == 0));
  // This very host has just run jails.
  CHECK(passed);

  const Ran table = run({"doctor"});
  CHECK(table.code == ran.code);
  for (const json::value& value : object.at("features").as_array())
    CHECK(contains(table.out, text(value.as_object(), "name")));
  CHECK(contains(table.out, "/bin/true under standard: ran in a jail and ended with 0"));
}

TEST_CASE("demo: the answer, its check and three refusals, all real") {
  require_jails();
  const Words before = demo_folders();
  const Ran ran = run({"demo"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const char* const said[] = {"reading,energy_wh",
                              "1,500\n",
                              "2,750\n",
                              "3,250\n",
                              "1.5 kWh\n",
                              "check: 0.5 + 0.75 + 0.25 = 1.5\n",
                              "FileNotFoundError",
                              "secret.txt is hidden: no entry of files.read_only shows it",
                              "socket(AF_INET, SOCK_STREAM): rule inet",
                              "clone(SIGCHLD): rule processes"};
  for (const char* words : said) {
    INFO(words);
    CHECK(contains(ran.out, words));
  }
  CHECK(demo_folders() == before);
  CHECK_FALSE(contains(ran.out, "CANARY"));
}

TEST_CASE("policy list names the shipped ones, with their why") {
  const Ran ran = run({"policy", "list"});
  CHECK(ran.code == 0);
  std::size_t lines = 0;
  std::size_t at = 0;
  for (const char* name : {"loose ", "restricted ", "standard ", "tight "}) {
    CHECK(ran.out.find(name, at) == at);
    at = ran.out.find('\n', at) + 1;
    ++lines;
  }
  CHECK(at == ran.out.size());
  CHECK(lines == 4);
}

TEST_CASE("policy show prints a policy that check takes, with the same reach") {
  const support::TempDir folder;
  int last = 0;
  for (const std::string name : {"tight", "standard", "loose"}) {
    INFO(name);
    Ran shown = run({"policy", "show", name});
    CHECK(shown.code == 0);
    const std::string first = "name = \"" + name + "\"\n";
    const std::size_t at = shown.out.find(first);
    REQUIRE(at != std::string::npos);
    const std::string file = folder / (name + ".toml");
    write(file, shown.out.replace(at, first.size(), "name = \"copy\"\n"));
    const Ran checked = run({"policy", "check", file});
    INFO(checked.err);
    REQUIRE(checked.code == 0);
    const Ran explained = run({"policy", "explain", name});
    CHECK(explained.code == 0);
    const int reach = number_before(explained.out, " system calls; any other fails with EPERM");
    CHECK(number_before(checked.out, " reachable system calls") == reach);
    CHECK(reach > last);  // each reaches more than the one before
    last = reach;
    if (name == "tight") CHECK(reach <= 50);
  }
}

TEST_CASE("policy explain says of a path what the jail shows") {
  const std::pair<const char*, const char*> paths[] = {
      {"/etc/shadow", "/etc/shadow is hidden: no entry of files.read_only shows it\n"},
      {"/root/.ssh/id_rsa", "/root/.ssh/id_rsa is hidden: no entry of files.read_only shows it\n"}};
  for (const auto& [path, answer] : paths)
    CHECK(run({"policy", "explain", "tight", "--path", path}).out == answer);
  CHECK(contains(run({"policy", "explain", "standard", "--path", "/usr/bin/ls"}).out, "/usr"));
}

TEST_CASE("policy with wrong words") {
  for (const Words& words :
       {Words{"policy"}, Words{"policy", "eat", "tight"}, Words{"policy", "show"},
        Words{"policy", "show", "strict"}, Words{"policy", "list", "tight"},
        Words{"policy", "check", "/no.toml"}, Words{"policy", "show", "tight", "--path", "/x"}}) {
    const Ran ran = run(words);
    INFO(ran.err);
    CHECK(ran.code == 125);
    CHECK(ran.out == "");
    CHECK(line(ran).rfind("sandglass: ", 0) == 0);
  }
}

TEST_CASE("what can't be written to stdout is our failure, whatever the command") {
  require_jails();
  for (const Words& words :
       {Words{"run", "--json", "-c", "1"}, Words{"exec", "--json", "--", "true"}, Words{"doctor"},
        Words{"policy", "list"}, Words{"policy", "show", "tight"}, Words{"--help"},
        Words{"run", "--help"}}) {
    INFO(words[0]);
    Call call{.args = words};
    call.before_exec = [] { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), 1); };
    const Ran ran = run(call);
    CHECK(ran.code == 125);
    CHECK(line(ran) == "sandglass: cannot write to stdout: ENOSPC; see whether there is room");
  }
}

TEST_CASE("help and version go to stdout, and end well") {
  CHECK(run({"--version"}).out.rfind("sandglass ", 0) == 0);
  const Ran help = run({"--help"});
  CHECK(help.code == 0);
  for (const char* command : {"run", "exec", "policy", "doctor", "demo"}) {
    CHECK(contains(help.out, std::string("\n  ") + command + " "));
    const Ran own = run({command, "--help"});
    CHECK(own.code == 0);
    CHECK(contains(own.out, std::string("Usage: sandglass ") + command));
    CHECK(own.err == "");
  }
  CHECK(run(Words{}).code == 125);
}
