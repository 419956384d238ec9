// What can be read off a policy: counts, groups, acts, sockets, paths, limits. No process.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "jail/bpf.h"
#include "jail/syscalls.h"
#include "policies/compile.h"
#include "policies/load.h"
#include "runner/reach/static_reach.h"
#include "runner/reach/surface_json.h"

namespace {

using runner::reach::Opening;
using runner::reach::Surface;

Surface surface_of(const std::string& name) {
  const auto library = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(library);
  const auto policy = library->find(name);
  REQUIRE(policy);
  auto surface = runner::reach::static_reach(*policy, library->syscalls());
  if (!surface) FAIL(surface.error().text);
  return *surface;
}

Opening opening_of(const Surface& surface, const std::string& name) {
  for (const auto& call : surface.calls)
    if (call.name == name) return call.opening;
  FAIL("no call " << name);
  return Opening::kUnknown;
}

Opening act_of(const Surface& surface, const std::string& name) {
  for (const auto& act : surface.acts)
    if (act.name == name) return act.opening;
  FAIL("no act " << name);
  return Opening::kUnknown;
}

std::string limit_of(const Surface& surface, const std::string& name) {
  for (const auto& limit : surface.limits)
    if (limit.name == name) return limit_text(limit);
  return "(none)";
}

std::vector<std::string> families(const Surface& surface) {
  std::vector<std::string> names;
  for (const auto& family : surface.sockets) names.push_back(family.family);
  return names;
}

const runner::reach::Path* path_of(const Surface& surface, const std::string& path) {
  const auto found = std::find_if(surface.paths.begin(), surface.paths.end(),
                                  [&](const auto& p) { return p.path == path; });
  return found == surface.paths.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("static reach counts what the compiled filter lets through") {
  CHECK(count_reachable(surface_of("restricted")) == 0);
  CHECK(count_reachable(surface_of("tight")) == 50);
  CHECK(count_reachable(surface_of("standard")) == 220);
  CHECK(count_reachable(surface_of("loose")) == 264);
}

TEST_CASE("an opening is told from the compiled filter, not from the policy's words") {
  const Surface tight = surface_of("tight");
  CHECK(opening_of(tight, "read") == Opening::kOpen);
  CHECK(opening_of(tight, "mmap") == Opening::kTested);
  CHECK(opening_of(tight, "clone") == Opening::kTested);
  CHECK(opening_of(tight, "socket") == Opening::kClosed);
  CHECK(opening_of(tight, "io_uring_setup") == Opening::kClosed);
  for (const auto& call : tight.calls) {
    INFO(call.name);
    CHECK((call.opening == Opening::kTested) == !call.when.empty());
  }
  // The quiet answers are not reach.
  CHECK(opening_of(tight, "fsync") == Opening::kClosed);
  CHECK(opening_of(surface_of("standard"), "fsync") == Opening::kOpen);
}

TEST_CASE("nothing of the never list is open in any policy, and every call has a group") {
  for (const char* name : {"tight", "standard", "loose"}) {
    INFO(name);
    const Surface surface = surface_of(name);
    std::size_t never = 0;
    for (const auto& call : surface.calls) {
      CHECK_FALSE(call.group.empty());
      if (call.group != "never" && call.group != "in no set") continue;
      INFO(call.name);
      CHECK(call.opening == Opening::kClosed);
      ++never;
    }
    CHECK(never > 60);
  }
}

TEST_CASE("always_allows is true only where no argument is refused") {
  jail::SyscallFilter filter;
  filter.rules.push_back({10, jail::SyscallAction::kAllow, 0, {}});
  filter.rules.push_back(
      {11, jail::SyscallAction::kAllow, 0, {{0, jail::CompareOp::kEqual, ~0ULL, 7}}});
  const auto program = jail::compile_filter(filter);
  REQUIRE(program);
  CHECK(jail::always_allows(*program, 10));
  CHECK(jail::reaches(*program, 11));
  CHECK_FALSE(jail::always_allows(*program, 11));
  CHECK_FALSE(jail::reaches(*program, 12));
  CHECK_FALSE(jail::always_allows(*program, 12));
}

TEST_CASE("acts and sockets follow the arguments") {
  const Surface tight = surface_of("tight");
  const Surface standard = surface_of("standard");
  const Surface loose = surface_of("loose");
  CHECK(act_of(tight, "start a thread") == Opening::kOpen);
  CHECK(act_of(tight, "start a process") == Opening::kClosed);
  CHECK(act_of(standard, "start a process") == Opening::kOpen);
  CHECK(act_of(tight, "make machine code in writable memory") == Opening::kClosed);
  CHECK(act_of(standard, "make machine code in writable memory") == Opening::kOpen);
  CHECK(act_of(standard, "run a program from memory") == Opening::kClosed);
  CHECK(act_of(loose, "run a program from memory") == Opening::kOpen);
  for (const char* never :
       {"make a user namespace", "leave for new namespaces", "mount a file system",
        "trace another process", "make calls that no filter sees", "make a device node",
        "set a set-user-id bit", "type into the terminal", "open files by number"}) {
    INFO(never);
    CHECK(act_of(loose, never) == Opening::kClosed);
  }
  CHECK(families(tight).empty());
  CHECK(families(standard) == std::vector<std::string>{"AF_UNIX"});
  CHECK(families(loose) ==
        std::vector<std::string>{"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"});
}

TEST_CASE("paths, devices and limits are those of the policy") {
  const Surface tight = surface_of("tight");
  const auto* workdir = path_of(tight, "/mnt/data");
  REQUIRE(workdir != nullptr);
  CHECK(workdir->write == runner::reach::Write::kYes);
  CHECK(workdir->run == runner::reach::Run::kNo);
  CHECK(workdir->max_bytes == jail::mib(256).value);
  const Surface loose = surface_of("loose");
  REQUIRE(path_of(loose, "/mnt/data") != nullptr);
  CHECK(path_of(loose, "/mnt/data")->run == runner::reach::Run::kYes);
  CHECK(path_of(tight, "/proc") == nullptr);
  CHECK(path_of(loose, "/proc") != nullptr);
  CHECK(path_of(tight, "/usr/lib/python3.99") == nullptr);
  for (const auto& path : loose.paths) {
    INFO(path.path);
    if (path.place == runner::reach::Place::kHost) CHECK(path.write == runner::reach::Write::kNo);
  }
  CHECK(tight.devices.size() == 5);
  CHECK(loose.devices.size() == 7);
  CHECK(tight.effective.empty());
  CHECK(tight.bounding.empty());
  CHECK(tight.namespaces.size() == 7);
  CHECK(limit_of(tight, "memory") == "1G");
  CHECK(limit_of(tight, "processes") == "64");
  CHECK(limit_of(tight, "wall_time") == "10s");
  CHECK(limit_of(tight, "open_files") == "256");
  CHECK(limit_of(loose, "message_queues") == "800K");
}

TEST_CASE("a surface as JSON says the same") {
  const auto object = runner::reach::surface_json(surface_of("tight"));
  const auto& syscalls = object.at("syscalls").as_object();
  CHECK(syscalls.at("reachable").to_number<int>() == 50);
  CHECK(syscalls.at("calls").as_array().size() == 50);
  CHECK(syscalls.at("groups").at("files").at("reachable").to_number<int>() == 23);
  CHECK(object.at("origin") == "policy");
  CHECK(object.at("no_new_privileges") == true);
  CHECK(object.at("capabilities").at("bounding").as_array().empty());
  CHECK(object.at("sockets").as_array().empty());
}
