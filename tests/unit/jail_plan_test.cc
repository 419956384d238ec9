// A Spec goes into a plan and comes out as it was; a Spec that breaks a rule is refused by the
// writer, with the step and the index of the entry.
#include <fcntl.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <functional>

#include "jail/bpf.h"
#include "jail/client.h"
#include "jail/plan.h"
#include "tests/support/plan_bytes.h"
#include "tests/support/sample_specs.h"

namespace {

using jail::Spec;
using jail::Step;

jail::Fd unsealed(const std::string& text) {
  jail::Fd file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return file;
}

int refused(const Spec& spec, std::uint16_t index = 0) {
  const auto plan = jail::make_plan(spec);
  REQUIRE_FALSE(plan.has_value());
  CHECK(plan.error().step == Step::kPlan);
  CHECK(plan.error().index == index);
  return plan.error().error;
}

int refused_with(const std::function<void(Spec&)>& spoil, std::uint16_t index = 0) {
  Spec spec = support::every_kind_of_mount();
  spoil(spec);
  return refused(spec, index);
}

int refused_mount(const std::function<void(jail::Mount&)>& spoil, std::uint16_t index) {
  return refused_with([&](Spec& s) { spoil(s.mounts[index]); }, index);
}

int refused_command(const std::function<void(jail::Command&)>& spoil) {
  jail::Command command = support::every_part_of_command();
  spoil(command);
  const auto file = jail::make_command(command);
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().step == Step::kPlan);
  return file.error().error;
}

}  // namespace

TEST_CASE("a plan reads as its Spec was") {
  const Spec spec = support::every_kind_of_mount();
  const auto file = jail::make_plan(spec);
  REQUIRE(file.has_value());
  const auto mapping = jail::Mapping::of(*file, jail::Mapping::Mode::kShared, jail::kMaxPlanBytes);
  REQUIRE(mapping.has_value());
  const auto view = jail::PlanView::read(mapping->bytes());
  REQUIRE(view.has_value());
  const jail::PlanHeader& h = view->header();
  CHECK(h.uid == 1000);
  CHECK(h.gid == 1000);
  CHECK(h.proc == jail::ProcView::kMasked);
  CHECK(h.loopback == jail::Loopback::kUp);
  CHECK(h.memory == jail::mib(100).value);
  CHECK(h.processes == 20);
  CHECK(h.cpu_time_ms == 1500);
  CHECK(h.exec_once == 1);
  CHECK(h.listens == 1);
  CHECK(std::string(view->text(h.hostname)) == "sandglass");
  CHECK(std::string(view->text(h.workdir)) == "/mnt/data");
  CHECK(std::string(view->text(h.code_dir)) == "/run/sandglass");
  REQUIRE(view->rlimits().size() == 2);
  CHECK(view->rlimits()[1].resource == RLIMIT_NOFILE);
  CHECK(view->rlimits()[1].soft == 64);
  CHECK(view->rlimits()[1].hard == 128);
  REQUIRE(view->mounts().size() == spec.mounts.size());
  for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
    const jail::PlanMount& m = view->mounts()[i];
    INFO("mount " << i);
    CHECK(m.kind == spec.mounts[i].kind);
    CHECK(m.access == spec.mounts[i].access);
    CHECK(m.mode == spec.mounts[i].mode);
    CHECK(m.size == spec.mounts[i].size.value);
    CHECK(m.inodes == spec.mounts[i].inodes);
    CHECK(view->text(m.source) == spec.mounts[i].source);
    CHECK(view->text(m.target) == spec.mounts[i].target);
    CHECK(std::string(view->text(m.contents), m.contents.length) == spec.mounts[i].contents);
  }
}

TEST_CASE("the same Spec makes the same bytes") {
  const auto one = jail::make_plan(support::every_kind_of_mount());
  const auto two = jail::make_plan(support::every_kind_of_mount());
  REQUIRE((one.has_value() && two.has_value()));
  CHECK(support::bytes_of(*one) == support::bytes_of(*two));
}

TEST_CASE("exec_once and listens follow from the filter") {
  const auto header = [](const jail::SyscallFilter& filter) {
    Spec spec = support::every_kind_of_mount();
    spec.filter = filter;
    const auto file = jail::make_plan(spec);
    REQUIRE(file.has_value());
    const auto bytes = support::bytes_of(*file);
    const auto view = jail::PlanView::read(bytes);
    REQUIRE(view.has_value());
    return std::pair{int{view->header().exec_once}, int{view->header().listens}};
  };
  auto filter = support::allow_only({"read", "write", "exit_group", "execve"});
  CHECK(header(filter) == std::pair{0, 1});
  filter.fallback = jail::SyscallAction::kErrno;
  CHECK(header(filter) == std::pair{0, 0});
  filter = support::allow_only({"read", "write", "exit_group"});
  filter.fallback = jail::SyscallAction::kKill;
  // A notify rule is added for the first execve.
  CHECK(header(filter) == std::pair{1, 1});
}

TEST_CASE("an execve that a rule denies outright still starts the payload once") {
  Spec spec = support::every_kind_of_mount();
  for (const auto action : {jail::SyscallAction::kErrno, jail::SyscallAction::kKill}) {
    spec.filter = support::allow_only({"read", "write", "exit_group"});
    spec.filter.rules.push_back({*jail::syscall_number("execve"), action, EACCES, {}});
    const auto file = jail::make_plan(spec);
    REQUIRE(file.has_value());
    const auto bytes = support::bytes_of(*file);
    const auto view = jail::PlanView::read(bytes);
    REQUIRE(view.has_value());
    CHECK(view->header().exec_once == 1);
    CHECK(view->header().listens == 1);
    seccomp_data call{};
    call.nr = *jail::syscall_number("execve");
    call.arch = 0xc000003e;
    CHECK(jail::run_filter(view->filter(), call) == SECCOMP_RET_USER_NOTIF);
  }
}

TEST_CASE("a Spec that breaks a rule is refused by the writer") {
  using jail::Mount;
  CHECK(refused_with([](Spec& s) { s.hostname.clear(); }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.hostname.assign(65, 'h'); }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.hostname = std::string("a\0b", 3); }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.workdir = "mnt/data"; }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.workdir = "/"; }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.code_dir = "/run/../etc"; }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.code_size = {}; }) == EINVAL);
  CHECK(refused_with([](Spec& s) { s.mounts.resize(129, s.mounts[0]); }) == E2BIG);
  CHECK(refused_with([](Spec& s) { s.rlimits.resize(17); }) == E2BIG);
  CHECK(refused_mount([](Mount& m) { m.target = "usr"; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.target = "/usr/.."; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.target = "/./usr"; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.target = "/usr/"; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.target = "//usr"; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.target = std::string("/u\0r", 4); }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.target = "/" + std::string(4096, 'x'); }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.source = "usr"; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.access = jail::Access::kReadWrite; }, 0) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.source.clear(); }, 1) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.size = {}; }, 2) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.inodes = 0; }, 2) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.mode = 04755; }, 3) == EINVAL);
  CHECK(refused_mount([](Mount& m) { m.source.clear(); }, 4) == EINVAL);
}

TEST_CASE("a filter under which no payload could start is refused") {
  for (const char* missing : {"read", "write", "exit_group"}) {
    Spec spec = support::every_kind_of_mount();
    std::erase_if(spec.filter.rules, [&](const jail::SyscallRule& r) {
      return r.number == jail::syscall_number(missing);
    });
    INFO(missing);
    CHECK(refused(spec, 1) == EINVAL);
  }
}

TEST_CASE("over a megabyte of plan is too much") {
  Spec spec = support::every_kind_of_mount();
  spec.mounts[5].contents.assign(jail::kMaxPlanBytes, 'x');
  CHECK(refused(spec) == E2BIG);
}

TEST_CASE("a command reads as it was") {
  const jail::Command command = support::every_part_of_command();
  const auto file = jail::make_command(command);
  REQUIRE(file.has_value());
  const auto mapping =
      jail::Mapping::of(*file, jail::Mapping::Mode::kPrivate, jail::kMaxCommandBytes);
  REQUIRE(mapping.has_value());
  const auto view = jail::CommandView::read(mapping->bytes());
  REQUIRE(view.has_value());
  CHECK(std::string(view->cwd()) == "/mnt/data");
  for (std::size_t i = 0; i < command.argv.size(); ++i) CHECK(view->argv()[i] == command.argv[i]);
  CHECK(view->argv()[command.argv.size()] == nullptr);
  for (std::size_t i = 0; i < command.env.size(); ++i) CHECK(view->env()[i] == command.env[i]);
  CHECK(view->env()[command.env.size()] == nullptr);
  REQUIRE(view->inputs().size() == 2);
  CHECK(std::string(view->text(view->inputs()[0].path)) == "/run/sandglass/main.py");
  CHECK(view->inputs()[0].mode == 0444);
}

TEST_CASE("a command that breaks a rule is refused by the writer") {
  using jail::Command;
  CHECK(refused_command([](Command& c) { c.argv.clear(); }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.argv[1] = std::string("a\0b", 3); }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.env[1] = std::string("A=\0", 3); }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.cwd = "data"; }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.cwd = "/mnt/../data"; }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.inputs[0].path = "main.py"; }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.inputs[0].path = "/run/../x"; }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.inputs[0].mode = 04755; }) == EINVAL);
  CHECK(refused_command([](Command& c) { c.inputs.resize(201, c.inputs[0]); }) == E2BIG);
  CHECK(refused_command([](Command& c) { c.argv[1].assign(5 << 20, 'x'); }) == E2BIG);
}

TEST_CASE("the root folder is a good place to be") {
  jail::Command command = support::every_part_of_command();
  command.cwd = "/";
  CHECK(jail::make_command(command).has_value());
}

TEST_CASE("a file that its sender could still change is refused") {
  constexpr auto kMode = jail::Mapping::Mode::kShared;
  const auto code = [](const jail::Fd& file, std::size_t limit = 100) {
    const auto mapping = jail::Mapping::of(file, kMode, limit);
    REQUIRE_FALSE(mapping.has_value());
    CHECK(mapping.error().step == Step::kPlan);
    return mapping.error().error;
  };
  CHECK(code(unsealed("x")) == EPERM);
  for (const int seals : {F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW | F_SEAL_SEAL}) {
    const jail::Fd file = unsealed("x");
    REQUIRE(::fcntl(file.get(), F_ADD_SEALS, seals) == 0);
    CHECK(code(file) == EPERM);
  }
  const jail::Fd sealed = unsealed("12345");
  REQUIRE(::fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
  CHECK(code(sealed, 4) == E2BIG);
  CHECK(jail::Mapping::of(sealed, kMode, 5).has_value());
  const jail::Fd empty = unsealed("");
  REQUIRE(::fcntl(empty.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
  CHECK(code(empty) == EINVAL);
  CHECK(code(jail::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC))) == EINVAL);
  CHECK(code(jail::Fd()) == EBADF);
}
