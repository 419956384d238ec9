// sandglass compare: two policies, and a policy beside another sandbox of this host.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/e2e/e2e.h"
#include "tests/support/require.h"

using namespace e2e;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

const std::string kBwrap =
    "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /var/tmp "
    "--ro-bind {helper} {helper} --";

json::object compare(Words args) {
  args.insert(args.begin(), "compare");
  args.emplace_back("--json");
  const Ran ran = run({.args = args, .patience = 160s}, 160s);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return document(ran);
}

std::set<std::string> names(const json::value& list) {
  std::set<std::string> found;
  for (const json::value& name : list.as_array()) found.insert(std::string(name.as_string()));
  return found;
}

int reachable(const json::object& document, const char* side) {
  return document.at(side).at("syscalls").at("reachable").to_number<int>();
}

std::string refusal(Words args) {
  args.insert(args.begin(), "compare");
  const Ran ran = run({.args = args, .patience = 60s}, 60s);
  CHECK(ran.code == 125);
  CHECK(ran.out.empty());
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  return ran.err;
}

}  // namespace

TEST_CASE("tight against loose: all that loose leaves open more, and nothing the other way round") {
  require_jails();
  const json::object document = compare({"tight", "loose"});
  CHECK(reachable(document, "a") == 50);
  CHECK(reachable(document, "b") == 264);
  const auto& probes = document.at("probes").as_object();
  CHECK(probes.at("rows").as_array().size() >= 120);
  CHECK(names(probes.at("only_a")).empty());
  const auto closed = names(probes.at("only_b"));
  // fork, a TCP socket, code in writable memory, a program from the workdir.
  for (const char* id : {"p25", "n08", "k11", "f41"}) {
    INFO(id);
    CHECK(closed.contains(id));
  }
  CHECK(names(document.at("syscalls").at("only_a")).empty());
  CHECK(names(document.at("syscalls").at("only_b")).size() == 214);
  CHECK(document.at("a").at("probes").at("holes").to_number<int>() == 0);
}

TEST_CASE("bwrap with everything unshared and no filter: what it leaves open is named") {
  require_jails();
  support::require_program("bwrap");
  const json::object document = compare({"tight", "--under", kBwrap});
  CHECK(document.at("b").at("subject") == "bwrap");
  CHECK(document.at("b").at("origin") == "measured");
  CHECK(document.at("b").at("filter") == "none");
  CHECK(reachable(document, "a") == 50);
  CHECK(reachable(document, "b") > 350);
  const auto calls = names(document.at("syscalls").at("only_b"));
  for (const char* call : {"io_uring_setup", "ptrace", "mount", "keyctl", "bpf", "unshare"}) {
    INFO(call);
    CHECK(calls.contains(call));
  }
  const auto& probes = document.at("probes").as_object();
  const auto open = names(probes.at("only_b"));
  // A user namespace, the kernel's key rings, any process, sockets.
  for (const char* id : {"p22", "k08", "p25", "n08"}) {
    INFO(id);
    CHECK(open.contains(id));
  }
  CHECK(open.size() > 50);
  CHECK(names(probes.at("only_a")).empty());
  // Its namespaces do hold: what they stop counts as stopped there too.
  const auto held = names(probes.at("neither"));
  CHECK(held.contains("n01"));  // the host's loopback
  CHECK(held.contains("p01"));  // a process outside
}

TEST_CASE("what is read off a policy is what a program finds inside it") {
  require_jails();
  const std::string exec =
      support::sandglass_path() + " exec --policy standard --ro-bind {helper}:/opt/reach -- ";
  // The words of a command follow; the helper has another name inside.
  const json::object document =
      compare({"standard", "--under", exec + "sh -c 'exec /opt/reach \"$2\"' sh", "--read-only"});
  CHECK(document.at("b").at("filter") == "a filter of its own");
  const auto only_outside = names(document.at("syscalls").at("only_b"));
  // Quiet answers that are no refusal (policies/syscalls.toml) look open from inside.
  const std::set<std::string> quiet{"setxattr", "lsetxattr", "fsetxattr"};
  for (const std::string& call : only_outside) {
    INFO(call);
    CHECK(quiet.contains(call));
  }
  // Calls that test their arguments may refuse those that no call can use.
  const auto& open = document.at("a").at("syscalls").at("calls").as_array();
  const auto only_a = names(document.at("syscalls").at("only_a"));
  for (const json::value& call : open) {
    if (call.at("opening") != "open") continue;
    INFO(call.at("name"));
    CHECK_FALSE(only_a.contains(std::string(call.at("name").as_string())));
  }
  CHECK(document.at("a").at("sockets").as_array().size() == 1);
  CHECK(document.at("b").at("sockets").as_array().size() == 1);
  CHECK(document.at("b").at("sockets").at(0).at("family") == "AF_UNIX");
  CHECK(document.at("b").at("capabilities").at("bounding").as_array().empty());
  CHECK(document.at("b").at("no_new_privileges") == true);
}

TEST_CASE("read-only, no probe is run, and a restricted policy has nothing open") {
  const json::object document = compare({"restricted", "tight", "--read-only"});
  CHECK(document.at("a").at("probes").is_null());
  CHECK(document.at("b").at("probes").is_null());
  CHECK(reachable(document, "a") == 0);
  CHECK(names(document.at("syscalls").at("only_b")).size() == 50);
  const Ran ran = run({"compare", "tight", "tight", "--read-only"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "tight (A) against tight (B)"));
  CHECK(contains(ran.out, "Nothing is open in tight (A) alone. No probe was run"));
}

TEST_CASE("a comparison that cannot be made says how it could") {
  require_jails();
  CHECK(contains(refusal({"tight"}), "compare takes two sides"));
  CHECK(contains(refusal({"tight", "loose", "--under", "x"}), "compare takes two sides"));
  CHECK(contains(refusal({"tight", "nosuch"}), "nosuch"));
  CHECK(contains(refusal({"tight", "--under", "'open"}), "a quote stays open"));
  CHECK(contains(refusal({"tight", "--under", " "}), "--under wants a command"));
  CHECK(contains(refusal({"tight", "--under", "nosuchsandbox --"}),
                 "there is no program nosuchsandbox"));
  CHECK(contains(refusal({"tight", "--under", "/bin/false"}), "{helper} stands for its path"));
  CHECK(contains(refusal({"tight", "loose", "--only", "zz9"}), "zz9"));
  CHECK(contains(refusal({"tight", "loose", "--read-only", "--html", "/nonexistent/x.html"}),
                 "--html: cannot write /nonexistent/x.html: ENOENT"));
}
