#include "tests/escape/attack.h"

#include <sched.h>

#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

namespace escape {
namespace {

namespace json = boost::json;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool is_listed(const json::object& report, const char* call) {
  if (call == nullptr) return false;
  for (const json::value& entry : report.at("denied").as_array()) {
    if (entry.at("syscall") == call) return true;
  }
  return false;
}

void check_under(const std::string& policy, const char* verdict, const std::string& program,
                 const Attack& attack, std::vector<std::string> options) {
  INFO("under " << policy);
  options.insert(options.begin(), {"--json", "--policy", policy});
  std::vector<std::string> command = {program};
  command.insert(command.end(), attack.words.begin(), attack.words.end());
  const e2e::Ran ran = support::run_binary({.args = e2e::payload(options, command)});
  CHECK(ran.wall < std::chrono::seconds(10));
  const json::object report = e2e::document(ran);
  INFO(json::serialize(report));
  REQUIRE(report.contains("denied"));
  const std::string wanted = verdict;
  const std::string said = e2e::text(report, "stdout");
  if (wanted == "REACHED") {
    CHECK(said == "REACHED\n");
  } else if (wanted == "BLOCKED") {
    CHECK(said.rfind("BLOCKED E", 0) == 0);
  } else if (wanted == "denied") {
    CHECK(said == "BLOCKED EPERM\n");
    CHECK(is_listed(report, attack.call));
  } else {
    CHECK(said == "BLOCKED " + wanted + "\n");
    // Whose number has a name is answered quietly, whose number has none is reported.
    if (wanted != "ENOSYS") CHECK_FALSE(is_listed(report, attack.call));
  }
}

std::string try_outside(const std::string& program, const std::vector<std::string>& words,
                        const std::function<void()>& before_exec) {
  const support::TempDir folder;
  e2e::Call call{.args = words};
  call.program = support::payloads_path() + "/" + program;
  call.cwd = folder.path();
  call.before_exec = before_exec;
  const e2e::Ran ran = support::run_binary(call);
  return ran.out.substr(0, ran.out.find('\n'));
}

void check_control(const std::string& program, const Attack& attack) {
  INFO("outside any jail");
  const std::string at_home = "REACHED";
  switch (attack.control) {
    case Control::kShown:
      return;
    case Control::kListed:
      CHECK((std::string(attack.tight) == "denied" || std::string(attack.tight) == "ENOSYS"));
      return;
    case Control::kRoot:
      if (!support::has(support::Feature::kRoot)) return;
      [[fallthrough]];
    case Control::kBare: {
      const std::string said = try_outside(program, attack.words, nullptr);
      const bool absent = said == "BLOCKED ENOSYS" && std::string(attack.tight) == "denied";
      if (!absent) CHECK(said == at_home);
      return;
    }
    case Control::kKernel: {
      const std::string said = try_outside(program, attack.words, nullptr);
      CHECK((said == at_home || said.rfind("BLOCKED E", 0) == 0));
      CHECK(said != "BLOCKED EPERM");
      return;
    }
    case Control::kInside:
      CHECK(try_outside(program, attack.words, [] {
              support::enter_namespaces(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
            }) == at_home);
      return;
  }
}

}  // namespace

void check(const std::string& program, std::span<const Attack> attacks,
           const std::vector<std::string>& options) {
  e2e::require_jails();
  const support::Leftovers leftovers;
  for (const Attack& attack : attacks) {
    INFO(joined(attack.words));
    check_under("tight", attack.tight, program, attack, options);
    check_under("standard", attack.standard, program, attack, options);
    check_under("loose", attack.loose, program, attack, options);
    check_control(program, attack);
  }
  CHECK(leftovers.found() == "");
}

std::string outside(const std::string& program, const std::vector<std::string>& words) {
  return try_outside(program, words, nullptr);
}

}  // namespace escape
