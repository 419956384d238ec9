// sandglass compare, interrupted, and beside sandboxes that mean harm: they hang, leave processes,
// and forge what they say.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

using namespace e2e;
using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 160s;

Ran compare(Words args, const std::string& cwd = "") {
  args.insert(args.begin(), "compare");
  return run({.args = std::move(args), .cwd = cwd, .patience = kPatience}, kPatience);
}

// A sandbox that is a shell's code; the words that follow are "$@".
std::string shell(const std::string& code) { return "sh -c '" + code + "' sh"; }

// For whoever the sandbox is started as, everybody.
void write_program(const support::TempDir& folder, const std::string& name,
                   const std::string& code) {
  write(folder / name, "#!/bin/sh\n" + code);
  REQUIRE(::chmod((folder / name).c_str(), 0755) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
}

}  // namespace

TEST_CASE("an interrupt ends a comparison, and what it had set up is gone") {
  require_jails();
  const support::Leftovers leftovers;
  const support::TempDir folder;
  const std::string waits = shell("exec sleep 1000");
  int signal = SIGINT;
  for (const Words& sides :
       {Words{"tight", "loose", "--html", folder / "page.html"}, Words{"tight", "--under", waits},
        Words{"standard", "loose", "--why"}}) {
    INFO(sides[1]);
    Words args{"compare"};
    args.insert(args.end(), sides.begin(), sides.end());
    support::Child child({.args = args, .patience = kPatience});
    const pid_t pid = child.pid();
    REQUIRE(comes_to_outside(pid));
    ::usleep(100'000);  // somewhere in the middle
    child.signal(signal);
    const Ran ran = child.finish();
    CHECK(ran.code == 125);
    CHECK(ran.err == "sandglass: interrupted; nothing is left behind\n");
    CHECK_FALSE(has_outside(pid));
    CHECK(leftovers.found() == "");
    signal = signal == SIGINT ? SIGTERM : SIGHUP;
  }
  CHECK(tree(folder.path()).empty());
}

TEST_CASE("what a sandbox leaves running is ended with the comparison") {
  require_jails();
  const support::Leftovers leftovers;
  const Ran ran = compare({"tight", "--only", "f01", "--under",
                           shell("setsid sleep 1000 </dev/null >/dev/null 2>&1 & exec \"$@\"")});
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(leftovers.found() == "");
}

TEST_CASE("a sandbox by a relative path is found from here") {
  require_jails();
  const support::TempDir folder;
  write_program(folder, "mine", "exec \"$@\"\n");
  const Ran ran = compare({"tight", "--only", "f01", "--under", "./mine"}, folder.path());
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "tight against mine"));
  for (const char* no_program : {"./nosuch", "/tmp", "/nonexistent/x --"}) {
    INFO(no_program);
    const Ran none = compare({"tight", "--under", no_program}, folder.path());
    CHECK(none.code == 125);
    CHECK(contains(none.err, "there is no program "));
  }
}

TEST_CASE("how a sandbox ended that says nothing is told") {
  require_jails();
  const Ran ran = compare({"tight", "--under", shell("exit 7")});
  CHECK(ran.code == 125);
  CHECK(contains(line(ran), "the sandbox let no fact out (it exited with 7)"));
}

TEST_CASE("a signal that a sandbox passes on as an exit status is one") {
  require_jails();
  const Ran ran = compare({"tight", "--json", "--only", "k05", "--only", "f01", "--under",
                           shell("case $2 in k05) exit 159;; f01) exit 137;; esac; exec \"$@\"")});
  REQUIRE(ran.code == 0);
  const auto report = document(ran);
  for (const auto& row : report.at("probes").at("rows").as_array()) {
    const bool killed_by_filter = row.at("id") == "k05";
    CHECK(row.at("b").at("verdict") == (killed_by_filter ? "blocked" : "inconclusive"));
  }
}

TEST_CASE("a sandbox that forges what it says harms no terminal and no page") {
  require_jails();
  const support::TempDir folder;
  const std::string name = "<script>alert(1)<";
  write_program(folder, name,
                "printf \"seccomp 2\\nsocket <b>AF_X\\033[2J <i>\\ndevice \\033]0;x\\007<img>\\n"
                "limit stack 99999999999999999999\\nend facts\\n"
                "REACHED \\033[31m<script>&\\n\"\n");
  const Words sides{"tight", "--only", "f01", "--under", "'" + (folder / name) + "'"};
  const Ran text = compare(sides);
  CHECK(text.code == 0);
  CHECK(text.out.find('\x1b') == std::string::npos);
  CHECK(contains(text.out, "tight against " + name));
  Words to_page = sides;
  to_page.insert(to_page.end(), {"--html", folder / "page.html"});
  CHECK(compare(to_page).code == 0);
  const std::string page = contents(folder / "page.html");
  CHECK(page.find('\x1b') == std::string::npos);
  for (const char* tag : {"<script", "<img", "<b>", "<i>"}) {
    INFO(tag);
    CHECK_FALSE(contains(page, tag));
  }
  CHECK(contains(page, "&lt;script&gt;alert(1)&lt;"));
}

TEST_CASE("a page that cannot be written is refused at once, and a refusal leaves none") {
  const support::TempDir folder;
  const Ran nowhere = compare({"tight", "loose", "--html", folder / "no/x.html"});
  CHECK(nowhere.code == 125);
  CHECK(contains(line(nowhere), "--html: cannot write " + (folder / "no/x.html") + ": ENOENT"));
  CHECK(compare({"tight", "loose", "--only", "zz", "--html", folder / "new.html"}).code == 125);
  CHECK(tree(folder.path()).empty());
}
