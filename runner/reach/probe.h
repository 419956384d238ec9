// What a probe is: one small, harmless, self-limiting act that code in a sandbox might try, and
// what became of it. Plain data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace runner::reach {

enum class Category : std::uint8_t {
  kFiles,
  kProcesses,
  kKernel,
  kNetwork,
  kResources,
  kInformation,
  kProtocol,
  kDoor
};
inline constexpr std::array kCategories = {
    Category::kFiles,     Category::kProcesses,   Category::kKernel,   Category::kNetwork,
    Category::kResources, Category::kInformation, Category::kProtocol, Category::kDoor};

// What can stop a probe. kNone: nothing does. kOther: the host itself, a rule of the kernel.
enum class Layer : std::uint8_t {
  kNone,
  kSeccomp,
  kMount,
  kPid,
  kNet,
  kUser,
  kCapability,
  kLandlock,
  kRlimit,
  kCgroup,
  kSupervisor,
  kOther
};

// Inconclusive: the probe could not be run, or did not say. Never silently one of the others.
enum class Verdict : std::uint8_t { kReached, kBlocked, kInconclusive };

// Who carries a probe out.
enum class By : std::uint8_t {
  kHelper,  // `sandglass-reach ID`
  kPython,  // the policy's Python runs `code`
  kHost,    // the helper plants something in its working folder; what we fetch from there decides
  kDoor,    // a request to the server (probe --server)
};

// How large the limits are that a probe runs under. kSmall: a tightened copy of the policy, so that
// a probe that fills memory or disk meets a limit before the host feels it.
enum class Room : std::uint8_t { kFull, kSmall };

enum class Twice : std::uint8_t { kNo, kYes };

// What is expected under each shipped policy.
struct Expected {
  Verdict tight = Verdict::kBlocked;
  Verdict standard = Verdict::kBlocked;
  Verdict loose = Verdict::kBlocked;
};

struct Probe {
  std::string_view id;      // "f02": a letter for the category, two digits or more
  std::string_view name;    // "read-proc-root"
  std::string_view tries;   // one sentence: what it tries
  std::string_view source;  // the public case: a CVE, an issue, a paper's scenario
  Category category = Category::kFiles;
  Layer stopped_by = Layer::kNone;  // the layer that is expected to stop it
  Expected expected;
  By by = By::kHelper;
  Room room = Room::kFull;
  std::string_view code = {};            // kPython
  std::optional<Expected> joined = {};   // in a session that joins, where that differs
  std::optional<Expected> sampled = {};  // on a host without cgroups, where that differs
  // Run twice, in two sandboxes: two lines "VALUE x" that are equal are REACHED.
  Twice twice = Twice::kNo;
};

struct Observation {
  Verdict verdict = Verdict::kInconclusive;
  std::string detail;  // one line, printable
  int error = 0;       // errno, 0: none
  // Inconclusive since the host cannot make such a sandbox at all: no code gets that far.
  bool impossible = false;
};

std::string_view category_text(Category category) noexcept;  // "files"
std::string_view layer_text(Layer layer) noexcept;           // "seccomp", "user namespace"
std::string_view verdict_text(Verdict verdict) noexcept;     // "reached", "blocked", "inconclusive"

// nullopt for a word that is no category.
std::optional<Category> category_of(std::string_view word) noexcept;

// All probes that run in a sandbox; ids are unique, the order is stable.
std::span<const Probe> catalogue();

// Null for an unknown id or name.
const Probe* find_probe(std::string_view id_or_name);

// Who sees to the memory of all processes together: a cgroup, or the spawner, which looks at what
// each process has.
enum class Memory : std::uint8_t { kCounted, kSampled };

// Of the shipped policies, in the mode "exec" or "join"; nullopt for another policy.
std::optional<Verdict> expected_under(const Probe& probe, std::string_view policy,
                                      std::string_view mode = "exec",
                                      Memory memory = Memory::kCounted);

}  // namespace runner::reach
