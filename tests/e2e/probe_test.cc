// sandglass probe, for real: under each shipped policy everything is as declared, by exec and by
// join; a policy that opens something is found out; and nothing of a run is left.
#include "runner/reach/probe.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <set>

#include "tests/e2e/e2e.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"
#include "tests/support/sanitized.h"

using namespace e2e;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace json = boost::json;
namespace reach = runner::reach;

namespace {

constexpr auto kPatience = 240s;

Ran probe(Words args) {
  args.insert(args.begin(), "probe");
  return run({.args = std::move(args), .patience = kPatience}, kPatience);
}

json::object probe_report(Words args) {
  args.emplace_back("--json");
  return document(probe(std::move(args)));
}

// What is not as declared, one line each, for the test's log.
std::string differences(const json::object& report) {
  std::string text;
  for (const json::value& value : report.at("probes").as_array())
    if (value.at("as_expected") == false) text += json::serialize(value) + "\n";
  return text;
}

std::set<std::string> reached(const json::object& report) {
  std::set<std::string> ids;
  for (const json::value& value : report.at("probes").as_array())
    if (value.at("verdict") == "reached") ids.insert(text(value.as_object(), "id"));
  return ids;
}

const json::object& row(const json::object& report, const std::string& id) {
  for (const json::value& value : report.at("probes").as_array())
    if (text(value.as_object(), "id") == id) return value.as_object();
  FAIL("no row " << id);
  return report;
}

void check_as_declared(const std::string& policy, const std::string& mode, std::size_t at_least) {
  require_jails();
  const support::Leftovers leftovers;
  const json::object report = probe_report({"--policy", policy, "--mode", mode});
  CHECK(differences(report) == "");
  CHECK(report.at("summary").at("inconclusive") == 0);
  CHECK(report.at("summary").at("holes") == 0);
  CHECK(report.at("probes").as_array().size() >= at_least);
  CHECK(text(report, "subject") == policy);
  CHECK(text(report, "mode") == mode);
  for (const std::string& id : reached(report)) {
    INFO(id);
    CHECK(row(report, id).at("expected") == "reached");
  }
  CHECK(leftovers.found() == "");
}

}  // namespace

TEST_CASE("tight, by exec") { check_as_declared("tight", "exec", 250); }
TEST_CASE("standard, by exec") { check_as_declared("standard", "exec", 250); }
TEST_CASE("loose, by exec") { check_as_declared("loose", "exec", 250); }
TEST_CASE("tight, by join") {
  // The spawner itself becomes the payload: its sanitizer asks for a signal stack, which tight
  // denies.
  if (!support::kSanitized) check_as_declared("tight", "join", 240);
}
TEST_CASE("standard, by join") { check_as_declared("standard", "join", 240); }
TEST_CASE("loose, by join") { check_as_declared("loose", "join", 240); }

TEST_CASE("the helper and the catalogue know the same probes") {
  const std::string helper = fs::path(support::sandglass_path()).parent_path().parent_path() /
                             "lib/sandglass/sandglass-reach";
  Call call{.args = {"--list"}};
  call.program = helper;
  const Ran ran = support::run_binary(call);
  REQUIRE(ran.code == 0);
  std::set<std::string> known;
  for (std::size_t at = 0; at < ran.out.size();) {
    const std::size_t end = ran.out.find('\n', at);
    CHECK(known.insert(ran.out.substr(at, end - at)).second);
    at = end + 1;
  }
  std::set<std::string> listed;
  for (const reach::Probe& probe : reach::catalogue())
    if (probe.by == reach::By::kHelper || probe.by == reach::By::kHost)
      listed.insert(std::string(probe.id));
  CHECK(known == listed);
}

TEST_CASE("most probes are shown to get through where nothing stops them") {
  require_jails();
  const json::object report =
      probe_report({"--policy", "tight", "--category", "files", "--category", "network"});
  const auto unproven = report.at("summary").at("unproven").as_int64();
  const auto blocked = report.at("summary").at("blocked").as_int64();
  CHECK(unproven * 2 < blocked);
  CHECK(row(report, "f01").at("control").at("verdict") == "reached");
  CHECK(row(report, "n01").at("control").at("verdict") == "reached");
  CHECK(row(report, "f01").at("proven") == true);
}

TEST_CASE("a policy that opens something is found out, by name") {
  require_jails();
  const support::TempDir folder;
  const std::string file = folder / "mine.toml";
  write(file,
        "name = \"mine\"\nextends = \"standard\"\nwhy = \"a test\"\n"
        "[syscalls]\nallow = [\"@inet\"]\n[unsafe]\ninet_sockets = \"a test\"\n");
  const std::string junit = folder / "probe.xml";
  const Ran ran = probe({"--policy", file, "--only", "n08", "--only", "udp-socket", "--only", "n01",
                         "--only", "p25", "--junit", junit});
  INFO(ran.out);
  CHECK(ran.code == 1);
  CHECK(contains(ran.out, "n08 tcp-socket is reached, expected: blocked"));
  CHECK(contains(ran.out, "n09 udp-socket is reached, expected: blocked"));
  CHECK_FALSE(contains(ran.out, "n01 tcp-loopback is"));
  CHECK(contains(ran.out, "2 reached that must be blocked"));
  CHECK(contains(ran.out, "its parent is standard"));
  CHECK(ran.err == "");
  const std::string xml = contents(junit);
  CHECK(contains(xml, "tests=\"4\" failures=\"2\""));
  CHECK(contains(xml, "name=\"n08 tcp-socket\">\n    <failure "));
  // The same call under the parent is clean.
  CHECK(probe({"--only", "n08", "--only", "p25"}).code == 0);
}

TEST_CASE("a policy that closes something more is no failure") {
  require_jails();
  const support::TempDir folder;
  const std::string file = folder / "mine.toml";
  write(file,
        "name = \"mine\"\nextends = \"standard\"\nwhy = \"a test\"\n"
        "[syscalls]\ndeny = [\"vfork\", \"flock\"]\n");
  const json::object report = probe_report({"--policy", file, "--only", "p26", "--only", "f47"});
  CHECK(row(report, "p26").at("verdict") == "blocked");
  CHECK(row(report, "f47").at("verdict") == "blocked");
  CHECK(report.at("summary").at("not_as_expected") == 0);
}

TEST_CASE("why: which layers stop it, each alone") {
  require_jails();
  const json::object report =
      probe_report({"--policy", "tight", "--why", "--only", "f01", "--only", "k05", "--only", "n01",
                    "--only", "h01", "--only", "i16", "--only", "p32"});
  const auto stopped_by = [&](const char* id, const char* layer) {
    for (const json::value& one : row(report, id).at("why").at("stopped_by").as_array())
      if (one == layer) return true;
    return false;
  };
  for (const char* id : {"f01", "k05", "n01", "i16", "p32"}) {
    INFO(id << " " << json::serialize(row(report, id)));
    CHECK(row(report, id).at("why").at("confirmed") == true);
  }
  CHECK(row(report, "f01").at("evidence") == "alone");
  // What the jail itself sees is evidence only where the answer is a filter's.
  const json::object plain = probe_report({"--policy", "tight", "--only", "k05", "--only", "r11"});
  CHECK(row(plain, "k05").at("evidence") == "seen");
  CHECK(row(plain, "k05").at("stopped_by") == json::array{"seccomp"});
  CHECK(row(plain, "r11").at("errno") == "EMFILE");
  CHECK(row(plain, "r11").at("evidence") == "expected");
  CHECK(row(plain, "r11").at("stopped_by") == json::array{"rlimit"});
  CHECK(stopped_by("f01", "mounts"));
  CHECK(stopped_by("f01", "Landlock") == support::has(support::Feature::kLandlock));
  CHECK_FALSE(stopped_by("f01", "seccomp"));
  CHECK(row(report, "k05").at("why").at("stopped_by") == json::array{"seccomp"});
  CHECK(row(report, "i16").at("why").at("stopped_by") == json::array{"supervisor"});
  CHECK(stopped_by("n01", "seccomp"));
  CHECK(stopped_by("n01", "net namespace"));
  CHECK(stopped_by("h01", "seccomp"));
  CHECK(stopped_by("p32", "pid namespace"));
}

TEST_CASE("root of a user namespace that knows nobody else can try it too") {
  require_jails();
  const Ran ran = run(
      {.args = {"probe", "--policy", "tight", "--only", "f01", "--only", "k05", "--only", "p22"},
       .before_exec = [] { support::enter_namespaces(0); }});
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "3 blocked, 0 reached, 0 inconclusive"));
  CHECK_FALSE(contains(ran.out, "prove nothing"));
}

TEST_CASE("a second run says the same") {
  require_jails();
  const Words args = {"--policy", "standard",   "--category", "files",      "--category",
                      "network",  "--category", "protocol",   "--category", "information"};
  json::object first = probe_report(args);
  json::object second = probe_report(args);
  CHECK(json::serialize(first.at("probes")) == json::serialize(second.at("probes")));
  CHECK(first.at("summary") == second.at("summary"));
}

TEST_CASE("an interrupt ends the suite, and what it had set up is gone") {
  require_jails();
  const support::Leftovers leftovers;
  // --why runs each a dozen times: none of them is waited for.
  for (const Words& options : {Words{"--policy", "standard"}, Words{"--mode", "join"},
                               Words{"--policy", "tight", "--why"}}) {
    Words args{"probe"};
    args.insert(args.end(), options.begin(), options.end());
    support::Child child({.args = args, .patience = kPatience});
    REQUIRE(comes_to_outside(child.pid()));
    ::usleep(100'000);  // somewhere in the middle
    child.signal(options.size() == 3 ? SIGTERM : SIGINT);
    const pid_t pid = child.pid();
    const Ran ran = child.finish();
    CHECK(ran.code == 125);
    CHECK(contains(ran.err, "interrupted; nothing is left behind"));
    CHECK_FALSE(has_outside(pid));
    CHECK(leftovers.found() == "");
  }
}

TEST_CASE("what a killed run has left is gone with the next one") {
  require_jails();
  support::Child child({.args = {"probe", "--policy", "standard"}, .patience = kPatience});
  REQUIRE(comes_to_outside(child.pid()));
  const pid_t pid = child.pid();
  child.signal(SIGKILL);
  CHECK(child.finish().code == -SIGKILL);
  CHECK(has_outside(pid));
  CHECK(run({"probe", "--only", "f01"}).code == 0);
  CHECK_FALSE(has_outside(pid));
}

TEST_CASE("what cannot be probed is refused with a way to mend it") {
  const Ran unknown = run({"probe", "--only", "zzz"});
  CHECK(unknown.code == 125);
  CHECK(line(unknown) == "sandglass: no probe zzz; sandglass probe --list names them");
  const Ran category = run({"probe", "--category", "colours"});
  CHECK(category.code == 125);
  CHECK(contains(line(category), "no such category; there are files, processes, kernel"));
  const Ran mode = run({"probe", "--mode", "fork"});
  CHECK(mode.code == 125);
  CHECK(line(mode) == "sandglass: --mode fork: give exec or join");
  const Ran policy = run({"probe", "--policy", "tigth"});
  CHECK(policy.code == 125);
  CHECK(contains(line(policy), "tight"));
  const Ran restricted = run({"probe", "--policy", "restricted"});
  CHECK(restricted.code == 125);
  const Ran few = run({.args = {"probe", "--only", "f01"}, .before_exec = [] {
                         const rlimit files{512, 512};
                         ::setrlimit(RLIMIT_NOFILE, &files);
                       }});
  CHECK(few.code == 125);
  CHECK(line(few) == "sandglass: only 512 files may be open, and probes need 1024: ulimit -n 1024");
}

TEST_CASE("the list is of what is asked for") {
  const std::string all = run({"probe", "--list"}).out;
  CHECK(contains(all, "f01  read-by-path: it reads a file outside"));
  CHECK(contains(all, "\nd01  "));
  const std::string one = run({"probe", "--list", "--only", "read-by-path"}).out;
  CHECK(one.starts_with("f01  read-by-path: "));
  CHECK(std::count(one.begin(), one.end(), '\n') == 1);
  CHECK_FALSE(contains(run({"probe", "--list", "--category", "kernel"}).out, "f01  "));
  CHECK(run({"probe", "--list", "--server", "unix:/x"}).out.starts_with("d01  "));
  CHECK(run({"probe", "--list", "--only", "zzz"}).code == 125);
  CHECK(run({"probe", "--list", "--json"}).code == 125);
}

TEST_CASE("a file for the report that cannot be written is refused at once") {
  const support::TempDir folder;
  const Ran nowhere = run({"probe", "--junit", folder / "no/x.xml"});
  CHECK(nowhere.code == 125);
  CHECK(contains(line(nowhere), "--junit: cannot write " + (folder / "no/x.xml") + ": ENOENT"));
  CHECK(run({"probe", "--junit", folder.path()}).code == 125);
  // A run that comes to nothing leaves no empty file, and what was there as it was.
  write(folder / "old", "old");
  CHECK(run({"probe", "--only", "zzz", "--junit", folder / "new"}).code == 125);
  CHECK(run({"probe", "--only", "zzz", "--junit", folder / "old"}).code == 125);
  CHECK(tree(folder.path()) == Words{"old"});
  CHECK(contents(folder / "old") == "old");
  require_jails();
  // Where there is no room in the end, the report is told all the same.
  const Ran full = run({"probe", "--only", "f01", "--junit", "/dev/full"});
  CHECK(full.code == 125);
  CHECK(contains(full.out, "all as expected"));
  CHECK(contains(full.err, "cannot write /dev/full: ENOSPC"));
  const Ran well = run({"probe", "--only", "f01", "--junit", folder / "old"});
  CHECK(well.code == 0);
  CHECK(contents(folder / "old").starts_with("<?xml version"));
}
