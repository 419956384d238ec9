// The tests' tools are tested too: a leftover that is not seen would make every other test lie.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/leftovers.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

namespace {

constexpr auto kImpatient = std::chrono::milliseconds(0);

// Runs `body` in a child; its exit code.
template <class Body>
int exit_code_of(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::unsetenv("SANDGLASS_SKIPS");  // these skips are no news
    body();
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a temp dir goes with all that is in it") {
  std::filesystem::path path;
  {
    const support::TempDir dir;
    path = dir.path();
    std::filesystem::create_directories(path / "a" / "b");
    std::ofstream(dir / "file") << "x";
    CHECK(std::filesystem::exists(path / "file"));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("nothing left is an empty report") {
  const support::Leftovers leftovers;
  CHECK(leftovers.found(kImpatient).empty());
}

TEST_CASE("an orphaned grandchild is seen") {
  const support::Leftovers leftovers;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() == 0) ::pause();
    std::_Exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const std::string report = leftovers.found(kImpatient);
  CHECK(report.rfind("process ", 0) == 0);
  const auto orphan = static_cast<pid_t>(std::stol(report.substr(8)));
  REQUIRE(::kill(orphan, SIGKILL) == 0);
  CHECK(leftovers.found().empty());
}

TEST_CASE("a temp file is seen") {
  const support::TempDir dir;
  REQUIRE(::setenv("TMPDIR", dir.path().c_str(), 1) == 0);
  const support::Leftovers leftovers;
  std::ofstream(dir / "sandglass-99999999") << "x";
  CHECK(leftovers.found(kImpatient) == "file " + (dir / "sandglass-99999999") + "\n");
}

TEST_CASE("a cgroup is seen, unless it bears a living stranger's pid") {
  support::require(support::Feature::kRoot);
  support::require(support::Feature::kMemoryCgroup);
  const std::string root =
      support::has(support::Feature::kCgroupV1) ? "/sys/fs/cgroup/memory/" : "/sys/fs/cgroup/";
  const support::Leftovers leftovers;
  const std::string ours = root + "sandglass-" + std::to_string(::getpid()) + "-test";
  const std::string strangers = root + "sandglass-1-test";
  REQUIRE(std::filesystem::create_directory(ours));
  REQUIRE(std::filesystem::create_directory(strangers));
  const std::string report = leftovers.found(kImpatient);
  std::filesystem::remove(ours);
  std::filesystem::remove(strangers);
  CHECK(report == "cgroup " + ours + "\n");
}

TEST_CASE("a missing program skips, and fails where all must work") {
  const auto need_nonsense = [] { support::require_program("no-such-program-here"); };
  CHECK(exit_code_of([] { support::require_program("sh"); }) == 0);
  REQUIRE(::unsetenv("SANDGLASS_MUST_WORK") == 0);
  CHECK(exit_code_of(need_nonsense) == 77);
  REQUIRE(::setenv("SANDGLASS_MUST_WORK", "1", 1) == 0);
  CHECK(exit_code_of(need_nonsense) == 1);
}

TEST_CASE("root and unprivileged exclude each other, and neither fails") {
  REQUIRE(::setenv("SANDGLASS_MUST_WORK", "1", 1) == 0);
  const int root = exit_code_of([] { support::require(support::Feature::kRoot); });
  const int user = exit_code_of([] { support::require(support::Feature::kUnprivileged); });
  CHECK(root + user == 77);
}
