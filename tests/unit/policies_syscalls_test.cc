#include <set>

#include "jail/syscalls.h"
#include "policies/syscalls.h"
#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

namespace {

// The error of looking at everything in a table of this text.
std::string table_error(const std::string& text) {
  const auto table = SyscallTable::read(text, "s.toml");
  if (!table) return table.error().text;
  const auto checked = table->check();
  return checked ? "" : checked.error().text;
}

const std::string kRest = "[quiet]\n[never]\nbpf = \"x\"\n";

}  // namespace

TEST_CASE("the shipped table is sound") {
  const auto checked = shipped().syscalls().check();
  if (!checked) FAIL(checked.error().text);
}

TEST_CASE("every call up to Linux 5.16 is in a set, quiet or never") {
  const SyscallTable& table = shipped().syscalls();
  std::set<int> known;
  for (const std::string& name : table.set_names())
    for (const SyscallEntry& e : table.set(name).value()->entries) known.insert(e.number);
  for (const QuietEntry& q : *table.quiet().value()) known.insert(q.call.number);
  for (const NeverEntry& n : *table.never().value()) known.insert(n.number);
  for (int number = 0; number <= 449; ++number) {
    const std::string name = jail::syscall_name(number);
    if (name.starts_with("syscall ")) continue;
    INFO(name);
    CHECK(known.contains(number));
  }
}

TEST_CASE("each entry says why") {
  const SyscallTable& table = shipped().syscalls();
  for (const std::string& name : table.set_names())
    for (const SyscallEntry& e : table.set(name).value()->entries) CHECK(e.why.size() > 1);
}

TEST_CASE("an entry with tests is read as it stands") {
  const auto table = SyscallTable::read(
      "[sets.a]\nwhy = \"w\"\nread = \"r\"\nioctl = { why = \"i\", args = \"fd request\", when = "
      "[\"request == 1\", \"request == 2\"] }\n",
      "s.toml");
  const SyscallSet& set = **table->set("a");
  REQUIRE(set.entries.size() == 2);
  CHECK(set.entries[0].name == "read");
  CHECK(set.entries[0].number == 0);
  CHECK(set.entries[1].number == 16);
  REQUIRE(set.entries[1].alternatives.size() == 2);
  CHECK(set.entries[1].alternatives[1] == Tests{{1, jail::CompareOp::kEqual, ~0ULL, 2}});
  CHECK(*table->set("b") == nullptr);
}

TEST_CASE("mistakes name line and column") {
  CHECK(table_error("[sets.a]\nwhy = \"w\"\n\nraed = \"r\"\n" + kRest) ==
        "s.toml:4:1: sets.a.raed: is not a system call that libseccomp knows on x86-64; check the "
        "spelling, or leave it out");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\nread = 7\n" + kRest) ==
        "s.toml:3:8: sets.a.read: is a whole number; it must be a table");
  CHECK(table_error("[sets.a]\nread = \"r\"\n" + kRest) == "s.toml:1:1: sets.a: why is missing");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\nread = { when = [\"fd == 0\"] }\n" + kRest) ==
        "s.toml:3:8: sets.a.read: why is missing: each call says what it is for");
  CHECK(table_error(
            "[sets.a]\nwhy = \"w\"\nread = { why = \"x\", args = \"fd\", when = [\"f == 0\"] }\n" +
            kRest) == "s.toml:3:42: sets.a.read.when: \"f\" is not one of the arguments: fd");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\nread = \"1\"\nread = \"2\"\n" + kRest) ==
        "s.toml:4:1: sets.a.read: stands twice; join the two");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\n[sets.a]\nwhy = \"w\"\n" + kRest) ==
        "s.toml:3:1: [sets.a] stands twice; join the two");
  CHECK(table_error("[set.a]\n") ==
        "s.toml:1:1: [set.a]: sections are [sets.NAME], [quiet], [never]");
  CHECK(table_error("\nx = 1\n") ==
        "s.toml:2:1: something stands before the first section, e.g. [sets.base]");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\nbpf = \"r\"\n" + kRest) ==
        "s.toml: sets.a.bpf: is on the never list (x); remove one of the two");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\n[never]\n[quiet]\nread = { error = \"EPERN\", why = "
                    "\"x\" }\n") ==
        "s.toml:5:18: quiet.read.error: must be \"ENOSYS\", \"EPERM\", \"EINVAL\", \"EOPNOTSUPP\", "
        "\"ENOTTY\" or "
        "\"0\"");
  CHECK(table_error("") == "s.toml:1:1: no sections; expected [sets.NAME]");
}

TEST_CASE("lines that toml++ does not see mean the same to it") {
  // A multi-line string may hold what looks like an entry; then toml++ reads the whole section.
  CHECK(table_error("[sets.a]\nwhy = \"\"\"w\nread = \"r\"\n\"\"\"\n" + kRest) ==
        "s.toml:2:7: sets.a.why: contains a control character");
  CHECK(table_error("[sets.a]\nwhy = \"w\"\nread = \"r\\q\"\n" + kRest).starts_with("s.toml:3:"));
}
