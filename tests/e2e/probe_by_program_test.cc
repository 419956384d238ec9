// Each probe once more, by the commands that people use: `sandglass exec` carries the helper, and
// `sandglass run` the Python ones, started by an unprivileged user (compare --under). What the
// suite says of a policy holds of them.
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "runner/reach/probe.h"
#include "tests/e2e/e2e.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

using namespace e2e;
using namespace std::chrono_literals;
namespace reach = runner::reach;

namespace {

constexpr auto kPatience = 240s;

// What a probe is told stands in its environment, which both commands pass on by --env only.
std::string wrapper(const std::string& sandglass, const std::string& options) {
  return "#!/bin/sh\n"
         "by=$1 id=$2 code=$4\n"
         "set --\n"
         "for v in $(env | grep '^REACH_'); do set -- \"$@\" --env \"$v\"; done\n"
         "case $by in\n"
         "/usr/bin/python3) exec " +
         sandglass + " run " + options +
         " --lang python \"$@\" -c \"$code\" ;;\n"
         "*) exec " +
         sandglass + " exec " + options +
         " --ro-bind \"$by\" \"$@\" -- \"$by\" \"$id\" ;;\n"
         "esac\n";
}

std::string verdict_under(const reach::Probe& probe, const std::string& policy,
                          reach::Memory memory) {
  const auto verdict = reach::expected_under(probe, policy, "exec", memory);
  return std::string(reach::verdict_text(verdict.value()));
}

// Not who needs our own hand to fetch its files; nor who floods stderr, which does not see what
// becomes of that.
bool may_be_asked(const reach::Probe& probe) {
  return (probe.by == reach::By::kHelper || probe.by == reach::By::kPython) && probe.id != "r17";
}

// Of those that need this much room: each verdict is one that is declared.
void check(const std::string& policy, reach::Room room, const std::string& limits) {
  require_jails();
  const support::TempDir folder;
  install(folder.path());
  const std::string program = folder / "wrapper";
  write(program, wrapper(folder / "bin/sandglass", "--policy " + policy + limits));
  REQUIRE(::chmod(program.c_str(), 0755) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  Words args{"compare", policy, "--under", program, "--json"};
  for (const reach::Probe& probe : reach::catalogue())
    if (probe.room == room && may_be_asked(probe))
      args.insert(args.end(), {"--only", std::string(probe.id)});
  const Ran ran = run({.args = args, .patience = kPatience}, kPatience);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto rows = document(ran).at("probes").at("rows").as_array();
  CHECK(rows.size() == (args.size() - 5) / 2);
  for (const auto& row : rows) {
    INFO(boost::json::serialize(row));
    const reach::Probe* probe = reach::find_probe(text(row.as_object(), "id"));
    REQUIRE(probe != nullptr);
    const std::string got = text(row.at("b").as_object(), "verdict");
    const bool declared = got == verdict_under(*probe, policy, reach::Memory::kCounted) ||
                          got == verdict_under(*probe, policy, reach::Memory::kSampled);
    // Whom a limit has ended says nothing more itself: the program's exit code does.
    const bool ended = room == reach::Room::kSmall && got == "inconclusive";
    CHECK((declared || ended));
  }
}

const std::string kTightened =
    " --memory 96M --processes 24 --wall-time 2s --cpu-time 500ms --output 64K --workdir-size 4M";

}  // namespace

TEST_CASE("tight, by exec and run") { check("tight", reach::Room::kFull, ""); }
TEST_CASE("loose, by exec and run") { check("loose", reach::Room::kFull, ""); }
TEST_CASE("tight, by exec and run, to its limits") {
  check("tight", reach::Room::kSmall, kTightened);
}
TEST_CASE("loose, by exec and run, to its limits") {
  check("loose", reach::Room::kSmall, kTightened);
}

TEST_CASE("a flood of stderr, by exec, is cut and said to be") {
  require_jails();
  const std::string sandglass = support::sandglass_path();
  const std::string built = sandglass.substr(0, sandglass.rfind("/bin/"));
  const std::string helper = built + "/lib/sandglass/sandglass-reach";
  const Ran ran = run(
      {"exec", "--policy", "tight", "--output", "64K", "--ro-bind", helper, "--", helper, "r17"});
  CHECK(ran.code == 0);
  CHECK(ran.err.size() < 66'000);
  CHECK(contains(ran.err, "sandglass: stderr was cut at 64K of 4M (limits.output)\n"));
}
