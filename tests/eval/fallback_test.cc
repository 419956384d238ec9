// fallback = "restricted" on a host that cannot make jails: user namespaces are taken away from the
// program under test, by a limit and by a filter.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/eval/program.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

using eval_test::How;
using eval_test::Ran;
using eval_test::sandglass;

namespace {

namespace json = boost::json;

constexpr const char* kByLimit =
    "outer_user_namespace: ENOSPC (the limit of user namespaces is reached: raise "
    "user.max_user_namespaces)";

How no_namespaces() { return {"", eval_test::forbid_user_namespaces_by_limit}; }

class Policies {
 public:
  Policies() {
    support::require(support::Feature::kUserNamespaces);
    std::ofstream(with()) << "name = \"with\"\nextends = \"standard\"\nwhy = \"falls back\"\n"
                             "fallback = \"restricted\"\n";
    std::ofstream(without()) << "name = \"without\"\nextends = \"standard\"\nwhy = \"refuses\"\n";
  }
  [[nodiscard]] std::string with() const { return folder_ / "with.toml"; }
  [[nodiscard]] std::string without() const { return folder_ / "without.toml"; }

 private:
  support::TempDir folder_;
};

const std::string kSaid =
    std::string(
        "sandglass: only arithmetic is evaluated (fallback): this host cannot make the jail of "
        "\"with\": ") +
    kByLimit + "\n";

}  // namespace

TEST_CASE("with a fallback, arithmetic is evaluated, and each reply says so") {
  const Policies policies;
  const Ran value = sandglass({"run", "--policy", policies.with(), "-c", "1+1"}, no_namespaces());
  CHECK(value.out == "2\n");
  CHECK(value.err == kSaid);
  CHECK(value.code == 0);
  const Ran refused =
      sandglass({"run", "--policy", policies.with(), "-c", "print(1)"}, no_namespaces());
  CHECK(refused.out.empty());
  CHECK(refused.err == kSaid + "sandglass: refused: Call is not on the arithmetic whitelist\n");
  CHECK(refused.code == 4);
  How from_stdin = no_namespaces();
  from_stdin.input = "2 * 3";
  CHECK(sandglass({"run", "--policy", policies.with(), "-"}, from_stdin).out == "6\n");
}

TEST_CASE("the JSON names the reason") {
  const Policies policies;
  const Ran ran =
      sandglass({"run", "--policy", policies.with(), "--json", "-c", "1+1"}, no_namespaces());
  CHECK(ran.code == 0);
  const json::object document = json::parse(ran.out).as_object();
  CHECK(document.at("outcome") == "ok");
  CHECK(document.at("stdout") == "2\n");
  CHECK(document.at("policy") == "with");
  CHECK(document.at("language") == "arithmetic");
  CHECK(document.at("verdict").at("value") == "2");
  CHECK(document.at("fallback") == kByLimit);
}

TEST_CASE("a filter that forbids namespaces is a host's lack too") {
  const Policies policies;
  const How how{"", eval_test::forbid_user_namespaces_by_filter};
  const Ran ran = sandglass({"run", "--policy", policies.with(), "-c", "6*7"}, how);
  CHECK(ran.out == "42\n");
  CHECK(ran.err.find("outer_user_namespace: EPERM") != std::string::npos);
  CHECK(ran.code == 0);
}

TEST_CASE("without one, it refuses to start, every time") {
  const Policies policies;
  for (int i = 0; i < 20; ++i) {
    const Ran ran =
        sandglass({"run", "--policy", policies.without(), "-c", "1+1"}, no_namespaces());
    CHECK(ran.out.empty());
    CHECK(ran.err == std::string("sandglass: ") + kByLimit + "\n");
    CHECK(ran.code == 125);
  }
  CHECK(sandglass({"run", "-c", "1+1"}, no_namespaces()).code == 125);
}

TEST_CASE("what the caller can mend is no reason to fall back") {
  const Policies policies;
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"run", "--policy", policies.with()};
    args.insert(args.end(), more.begin(), more.end());
    const Ran ran = sandglass(args, no_namespaces());
    CHECK(ran.out.empty());
    CHECK(ran.err.find("fallback") == std::string::npos);
    return ran.code;
  };
  CHECK(run({"--lang", "cobol", "-c", "1+1"}) == 125);
  CHECK(run({"--memory", "900G", "-c", "1+1"}) == 125);
  CHECK(run({"--in", "/nonexistent", "-c", "1+1"}) == 125);
  CHECK(run({"/nonexistent"}) == 125);
}

TEST_CASE("exec never falls back") {
  const Policies policies;
  const Ran ran =
      sandglass({"exec", "--policy", policies.with(), "--", "/bin/true"}, no_namespaces());
  CHECK(ran.err == std::string("sandglass: ") + kByLimit + "\n");
  CHECK(ran.code == 125);
}

TEST_CASE("where jails work, the fallback changes nothing") {
  const Policies policies;
  support::require(support::Feature::kSeccompNotify);
  const Ran ran = sandglass({"run", "--policy", policies.with(), "-c", "print(6 * 7)"});
  CHECK(ran.out == "42\n");
  CHECK(ran.code == 0);
}
