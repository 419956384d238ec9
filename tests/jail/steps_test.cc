// Each step of making a jail that can be made to fail, and the {step, index, errno} it gives.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "jail/wire.h"
#include "tests/support/jail_client.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

namespace jail {

std::ostream& operator<<(std::ostream& out, const SetupError& e) {
  return out << step_name(e.step) << "[" << e.index << "] " << errno_name(e.error);
}

}  // namespace jail

namespace {

using jail::MountKind;
using jail::SetupError;
using jail::Spec;
using jail::Step;
using support::base_spec;
using support::entry;
using support::Run;
using support::Spawner;

constexpr std::uint16_t kFirst = 4;  // index of the first mount after base_spec's

SetupError error_of(const Run& run) { return run.error.value_or(SetupError{}); }

SetupError with_mount(Spawner& spawner, const jail::Mount& mount) {
  Spec spec = base_spec();
  spec.mounts.push_back(mount);
  return error_of(spawner.run(spec, {"exits_with"}));
}

SetupError with_input(Spawner& spawner, const Spec& spec, const std::vector<std::string>& paths,
                      const std::string& text = "x") {
  jail::Command command = support::payload_command({"exits_with"});
  std::vector<jail::Fd> files;
  for (const std::string& path : paths) {
    command.inputs.push_back({path, 0444});
    files.push_back(support::file_with(text));
  }
  return error_of(spawner.run(spec, command, std::move(files)));
}

SetupError with_program(Spawner& spawner, const std::string& program,
                        const std::string& path = "") {
  jail::Command command = support::payload_command({"exits_with"});
  command.argv = {program};
  if (!path.empty()) command.env = {"PATH=" + path};
  return error_of(spawner.run(base_spec(), command));
}

// What a spawner says when it can't even say hello.
SetupError first_words(support::SpawnerOptions options) {
  options.hello = support::SpawnerOptions::Hello::kLeave;
  Spawner spawner(options);
  auto event = spawner.next(std::chrono::seconds(10));
  if (!event) return {};
  const auto* launched = std::get_if<jail::Launched>(&*event);
  return launched != nullptr && launched->id == 0 ? launched->error.value_or(SetupError{})
                                                  : SetupError{};
}

// In a user namespace of one's own, where sysctls of that namespace may be set.
std::vector<std::string> in_own_user_namespace(const std::string& before) {
  return {"unshare", "--user", "--map-root-user",       "--mount",
          "sh",      "-euc",   before + "; exec \"$0\""};
}

}  // namespace

TEST_CASE("open_source: missing, closed to the jail's uid, optional") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Mount missing = entry(MountKind::kBind, "/no/such/path", "/x");
  CHECK(with_mount(spawner, missing) == SetupError{Step::kOpenSource, kFirst, ENOENT});
  missing.presence = jail::Presence::kOptional;
  CHECK(with_mount(spawner, missing) == SetupError{});
  missing.source = "/dev/null/x";
  CHECK(with_mount(spawner, missing) == SetupError{Step::kOpenSource, kFirst, ENOTDIR});
  if (::geteuid() != 0) return;
  const support::TempDir closed;  // 0700
  ::mkdir((closed / "in").c_str(), 0755);
  const jail::Mount inside = entry(MountKind::kBind, closed / "in", "/x");
  CHECK(with_mount(spawner, inside) == SetupError{Step::kOpenSource, kFirst, EACCES});
}

TEST_CASE("open_source: the host's root and the kernel's own file systems, by a link") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const support::TempDir folder;
  ::chmod(folder.path().c_str(), 0755);
  for (const char* path : {"/", "/proc", "/proc/sys", "/sys"}) {
    INFO(path);
    const std::string link = folder / "link";
    REQUIRE(::symlink(path, link.c_str()) == 0);
    CHECK(with_mount(spawner, entry(MountKind::kBind, link, "/x")) ==
          SetupError{Step::kOpenSource, kFirst, EINVAL});
    ::unlink(link.c_str());
  }
}

TEST_CASE("mount: things that must not be bound") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const support::TempDir folder;
  ::chmod(folder.path().c_str(), 0755);
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0666) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "s").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const jail::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  const auto mount_error = [](int error) { return SetupError{Step::kMount, kFirst, error}; };
  CHECK(with_mount(spawner, entry(MountKind::kBind, fifo, "/x")) == mount_error(EINVAL));
  CHECK(with_mount(spawner, entry(MountKind::kBind, folder / "s", "/x")) == mount_error(EINVAL));
  CHECK(with_mount(spawner, entry(MountKind::kBind, "/dev/null", "/x")) == mount_error(EINVAL));
  CHECK(with_mount(spawner, entry(MountKind::kDevice, fifo, "/dev/x")) == mount_error(ENXIO));
  CHECK(with_mount(spawner, entry(MountKind::kDevice, "/etc", "/dev/x")) == mount_error(ENXIO));
  // A folder over a file, a file over a folder, a link where something is.
  CHECK(with_mount(spawner, entry(MountKind::kBind, "/usr", "/dev/null")) == mount_error(EINVAL));
  CHECK(with_mount(spawner, entry(MountKind::kDir, "", "/dev/null/x")) == mount_error(ENOTDIR));
  CHECK(with_mount(spawner, entry(MountKind::kSymlink, "x", "/tmp")) == mount_error(EEXIST));
}

TEST_CASE("mount: a workdir or code folder that can't be") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  Spec spec = base_spec();
  spec.workdir = "/nowhere";
  CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kMount, 0xffff, ENOENT});
  spec = base_spec();
  spec.code_dir = "/tmp";
  CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kMount, 0xffff, EEXIST});
}

TEST_CASE("input: exists, does not fit, leads through a link, has no place") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  Spec spec = base_spec();
  const auto input_error = [](std::uint16_t index, int error) {
    return SetupError{Step::kInput, index, error};
  };
  CHECK(with_input(spawner, spec, {"/mnt/data/a", "/mnt/data/a"}) == input_error(1, EEXIST));
  CHECK(with_input(spawner, spec, {"/mnt/data/a", "/mnt/data/a/b"}) == input_error(1, ENOTDIR));
  CHECK(with_input(spawner, spec, {"/new/a"}) == input_error(0, EROFS));
  CHECK(with_input(spawner, spec, {"/payloads/a"}) == input_error(0, EROFS));
  spec.code_size = jail::kib(4);
  const std::string page(4097, 'x');
  CHECK(with_input(spawner, spec, {"/run/sandglass/a"}, page) == input_error(0, ENOSPC));
  spec.mounts[3].size = jail::kib(8);
  CHECK(with_input(spawner, spec, {"/mnt/data/a", "/mnt/data/b"}, page) == input_error(1, ENOSPC));
  spec = base_spec();
  spec.mounts.push_back(entry(MountKind::kSymlink, "/tmp", "/mnt/data/link"));
  CHECK(with_input(spawner, spec, {"/mnt/data/link/a"}) == input_error(0, ELOOP));
  CHECK(with_input(spawner, spec, {"/mnt/data/link"}) == input_error(0, EEXIST));
}

TEST_CASE("mount: a link in what is bound leads no target out of the jail") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const support::TempDir outside;
  const support::TempDir bound;
  ::chmod(outside.path().c_str(), 0777);
  ::chmod(bound.path().c_str(), 0755);
  REQUIRE(::symlink(outside.path().c_str(), (bound / "absolute").c_str()) == 0);
  REQUIRE(::symlink((std::string(20, '/') + "../../../.." + outside.path().string()).c_str(),
                    (bound / "climbing").c_str()) == 0);
  const std::string text = "made in the jail\n";
  for (const std::string link : {"absolute", "climbing"}) {
    INFO(link);
    const std::string below = "/bound/" + link;
    Spec spec = base_spec();
    spec.mounts.push_back(entry(MountKind::kBind, bound.path(), "/bound"));
    spec.mounts.push_back(entry(MountKind::kDir, "", outside.path()));  // in the jail's /tmp
    spec.mounts.push_back(entry(MountKind::kDir, "", below + "/folder/deeper"));
    spec.mounts.push_back(entry(MountKind::kTmpfs, "", below + "/tmpfs"));
    spec.mounts.back().size = jail::mib(1);
    spec.mounts.back().inodes = 10;
    spec.mounts.push_back(entry(MountKind::kBind, "/usr", below + "/usr"));
    spec.mounts.push_back(entry(MountKind::kFile, "", below + "/file"));
    spec.mounts.back().contents = text;
    spec.mounts.back().mode = 0444;
    spec.code_dir = below + "/code";
    const Run run = spawner.run(spec, {"prints_files", below + "/file", outside / "file"});
    CHECK(error_of(run) == SetupError{});
    CHECK(run.out == text + text);
    CHECK(std::filesystem::is_empty(outside.path()));
  }
}

TEST_CASE("chdir") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Command command = support::payload_command({"exits_with"});
  command.cwd = "/nowhere";
  CHECK(error_of(spawner.run(base_spec(), command)) == SetupError{Step::kChdir, 0, ENOENT});
  command.cwd = "/dev/null";
  CHECK(error_of(spawner.run(base_spec(), command)) == SetupError{Step::kChdir, 0, ENOTDIR});
}

TEST_CASE("exec: not found, not runnable, not a program") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const auto exec_error = [](int error) { return SetupError{Step::kExec, 0, error}; };
  CHECK(with_program(spawner, "/payloads/nothing") == exec_error(ENOENT));
  CHECK(with_program(spawner, "/payloads/exits_with/x") == exec_error(ENOTDIR));
  CHECK(with_program(spawner, "/payloads") == exec_error(EACCES));
  CHECK(with_program(spawner, "/dev/null") == exec_error(EACCES));
  CHECK(with_program(spawner, "") == exec_error(ENOENT));
  CHECK(with_program(spawner, "nothing", "/payloads") == exec_error(ENOENT));
  CHECK(with_program(spawner, "exits_with") == exec_error(ENOENT));  // not in the default PATH
  CHECK(with_program(spawner, "exits_with", "/nowhere::/dev/null:/payloads") == SetupError{});
  CHECK(with_program(spawner, "payloads", "/:/tmp") == exec_error(EACCES));  // a folder
  CHECK(with_program(spawner, "/" + std::string(5000, 'x')) == exec_error(ENAMETOOLONG));

  const support::TempDir folder;
  ::chmod(folder.path().c_str(), 0755);
  std::ofstream(folder / "text") << "no program";
  std::ofstream(folder / "script") << "#!/no/such/interpreter\n";
  for (const char* name : {"text", "script"}) ::chmod((folder / name).c_str(), 0755);
  Spec spec = base_spec();
  jail::Mount bind = entry(MountKind::kBind, folder.path(), "/programs");
  bind.exec = jail::Exec::kExec;
  spec.mounts.push_back(bind);
  CHECK(error_of(spawner.run(spec, {"/programs/text"})) == exec_error(ENOEXEC));
  CHECK(error_of(spawner.run(spec, {"/programs/script"})) == exec_error(ENOENT));
  spec.mounts.back().exec = jail::Exec::kNoExec;
  CHECK(error_of(spawner.run(spec, {"/programs/text"})) == exec_error(EACCES));
}

TEST_CASE("exec: arguments too large") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const std::vector<std::string> argv = {"exits_with", std::string(200000, 'x')};  // MAX_ARG_STRLEN
  CHECK(error_of(spawner.run(base_spec(), argv)) == SetupError{Step::kExec, 0, E2BIG});
}

TEST_CASE("rlimit: one that does not exist, one upside down") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  Spec spec = base_spec();
  spec.rlimits = {{RLIMIT_CORE, 0, 0}, {99, 1, 1}};
  CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kRlimit, 1, EINVAL});
  spec.rlimits = {{RLIMIT_NOFILE, 20, 10}};
  CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kRlimit, 0, EINVAL});
}

TEST_CASE("seccomp: no descriptor left for the listener") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  Spec spec = base_spec();
  spec.rlimits = {{RLIMIT_NOFILE, 3, 3}};
  CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kSeccomp, 0, EMFILE});
}

TEST_CASE("cgroup: a limit the kernel does not take") {
  support::require(support::Feature::kUserNamespaces);
  support::require(support::Feature::kMemoryCgroup);
  Spawner spawner;
  if (spawner.hello().processes == jail::Enforcer::kRlimit) return;
  Spec spec = base_spec();
  spec.totals.processes = 1U << 30U;  // over PID_MAX_LIMIT
  CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kCgroup, 1, EINVAL});
  CHECK_FALSE(spawner.run(base_spec(), {"exits_with"}).error.has_value());
}

TEST_CASE("plan: garbage, unsealed, and a command that is neither") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const auto launch = [&](const jail::Fd& plan) {
    return error_of(spawner.finish(spawner.start(plan, {"exits_with"})));
  };
  const jail::Fd garbage = support::file_with(std::string(8192, 'g'));
  CHECK(launch(garbage) == SetupError{Step::kPlan, 0, EPERM});
  REQUIRE(::fcntl(garbage.get(), F_GET_SEALS) >= 0);
  jail::Fd sealed(::memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::write(sealed.get(), "garbage", 7) == 7);
  REQUIRE(::fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
  CHECK(launch(sealed) == SetupError{Step::kPlan, 0, EINVAL});
  CHECK(launch(jail::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC))) ==
        SetupError{Step::kPlan, 0, EINVAL});
  const jail::Fd plan = support::plan_of(base_spec());
  const support::Launch out{77, support::file_with(""), support::file_with("")};
  const jail::Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(jail::send_launch(spawner.socket(), 77, plan, sealed, {in, out.out, out.err}, {}));
  CHECK(error_of(spawner.finish(out)) == SetupError{Step::kPlan, 0, EINVAL});
}

TEST_CASE("protocol: inputs that do not match the command") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Command command = support::payload_command({"exits_with"});
  command.inputs = {{"/mnt/data/a", 0444}};
  CHECK(error_of(spawner.run(base_spec(), command)) == SetupError{Step::kProtocol, 1, EBADMSG});
}

TEST_CASE("proc: over-mounted, so refused, and a jail without /proc still works") {
  support::require(support::Feature::kUserNamespaces);
  support::SpawnerOptions options;
  options.wrap = in_own_user_namespace("mount -t tmpfs none /proc/sys");
  Spawner spawner(options);
  for (const auto view : {jail::ProcView::kOwnPids, jail::ProcView::kMasked}) {
    Spec spec = base_spec();
    spec.proc = view;
    CHECK(error_of(spawner.run(spec, {"exits_with"})) == SetupError{Step::kProc, 0, EPERM});
  }
  const Run run = spawner.run(base_spec(), {"exits_with", "9"});
  CHECK(error_of(run) == SetupError{});
  CHECK(WEXITSTATUS(run.ended.wait_status) == 9);
}

TEST_CASE("outer_user_namespace and clone: the host allows no more namespaces") {
  support::require(support::Feature::kUserNamespaces);
  support::SpawnerOptions options;
  options.wrap = in_own_user_namespace("echo 0 >/proc/sys/user/max_user_namespaces");
  CHECK(first_words(options) == SetupError{Step::kOuterUserNs, 0, ENOSPC});
  for (const char* kind : {"user", "net", "pid", "mnt", "ipc", "uts", "cgroup"}) {
    INFO(kind);
    const std::string most = std::string(kind) == "user" ? "1" : "0";
    options.wrap =
        in_own_user_namespace("echo " + most + " >/proc/sys/user/max_" + kind + "_namespaces");
    Spawner spawner(options);
    // The ipc and cgroup namespaces are init's own work, once it is who and where it shall be.
    const bool later = std::string(kind) == "ipc" || std::string(kind) == "cgroup";
    const SetupError wanted =
        later ? SetupError{Step::kIdentity, 4, ENOSPC} : SetupError{Step::kClone, 0, ENOSPC};
    CHECK(error_of(spawner.run(base_spec(), {"exits_with"})) == wanted);
  }
}

TEST_CASE("spawner: no processes allowed, and a caller that is none") {
  support::require(support::Feature::kUserNamespaces);
  support::SpawnerOptions options;
  options.backend.as = support::As::kUser;
  options.before_exec = [] {
    const rlimit none{1, 1};
    ::setrlimit(RLIMIT_NPROC, &none);
  };
  CHECK(first_words(options) == SetupError{Step::kSpawnerStart, 2, EAGAIN});
  options = {};
  options.before_exec = [] { ::dup2(1, jail::kSpawnerSocket); };
  options.hello = support::SpawnerOptions::Hello::kLeave;
  Spawner spawner(options);
  const auto status = spawner.wait(std::chrono::seconds(10));
  REQUIRE(status.has_value());
  CHECK(WEXITSTATUS(*status) == 2);
}

TEST_CASE("after every failure the spawner works on") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  for (int i = 0; i < 20; ++i) {
    CHECK(with_mount(spawner, entry(MountKind::kBind, "/no/such/path", "/x")).error == ENOENT);
    CHECK(with_program(spawner, "/payloads/nothing").error == ENOENT);
  }
  CHECK(WEXITSTATUS(spawner.run(base_spec(), {"exits_with", "8"}).ended.wait_status) == 8);
}
