#include "runner/reach/outside.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runner/reach/stale.h"
#include "runner/reach/subject.h"
#include "runner/session/home.h"

namespace runner::reach {
namespace {

namespace fs = std::filesystem;

// Of nobody in particular, and no other's: a host gives names to lower ones.
constexpr uid_t kFirstUid = 64'700;
constexpr uid_t kUids = 97;

constexpr const char* kSeeFolders = "; see that /var/tmp and /tmp are writable, with room";

tl::unexpected<Error> host(const std::string& what, const char* hint = "") {
  return fail(ErrorKind::kHost,
              "cannot set up the probes' outside: " + what + ": " + jail::errno_name(errno) + hint);
}

// user_namespaces(7): whether this namespace has that id. A file that is not there maps all.
bool is_mapped(const char* map_file, std::uint64_t id) {
  std::ifstream map(map_file);
  if (!map) return true;
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t length = 0;
  while (map >> inside >> outside >> length)
    if (id >= inside && id - inside < length) return true;
  return false;
}

// Whom the throw-away processes are to be: of nobody in particular if we are root. Root of a
// namespace that knows nobody else stays root by name; layers/main.cc sees that it gives nothing.
uid_t throw_away_uid() {
  if (::geteuid() != 0) return ::geteuid();
  const uid_t uid = kFirstUid + static_cast<uid_t>(::getpid()) % kUids;
  std::string groups;
  std::ifstream("/proc/self/setgroups") >> groups;
  const bool knows = is_mapped("/proc/self/uid_map", uid) && is_mapped("/proc/self/gid_map", uid);
  return knows && groups != "deny" ? uid : 0;
}

bool write_all(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path, std::ios::binary) << text;
  return ::chmod(path.c_str(), mode) == 0;
}

// "@name" is an abstract one.
bool bind_unix(const jail::Fd& socket, const std::string& name) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (name.size() >= sizeof at.sun_path) return false;
  name.copy(at.sun_path, name.size());
  if (name[0] == '@') at.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0;
}

constexpr std::string_view kPrefix = "sandglass-probe-";

// proc(5): the state and the parent stand behind the name, which may hold anything.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    const long pid = std::strtol(path.filename().c_str(), nullptr, 10);
    if (pid <= 0) continue;
    // It may end meanwhile: read() then says so, and an iterator throws.
    std::string text(4096, '\0');
    std::ifstream file(path / "stat");
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || text.size() < name_end + 4) continue;
    if (std::strtol(text.c_str() + name_end + 4, nullptr, 10) == ::getpid())
      found.push_back(static_cast<pid_t>(pid));
  }
  return found;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

Result<std::string> layers_path() {
  const auto helper = helper_path();
  if (!helper) return tl::unexpected(helper.error());
  std::string path = helper->substr(0, helper->rfind('/')) + "/sandglass-layers";
  if (::access(path.c_str(), X_OK) == 0) return path;
  return fail(ErrorKind::kFiles, path + " is missing from the installation: install again");
}

Result<std::unique_ptr<Outside>> Outside::make() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kOpenFiles)
    return fail(ErrorKind::kHost,
                "only " + std::to_string(files.rlim_cur) + " files may be open, and probes need " +
                    std::to_string(kOpenFiles) + ": ulimit -n " + std::to_string(kOpenFiles));
  auto outside = std::make_unique<Outside>(Key{});
  outside->earlier_children_ = children();
  // PR_SET_CHILD_SUBREAPER(2const): orphans of ours come to us.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  for (const auto step :
       {&Outside::files, &Outside::listeners, &Outside::victim, &Outside::descriptors})
    if (auto done = (outside.get()->*step)(); !done) return tl::unexpected(done.error());
  return outside;
}

Result<void> Outside::files() {
  uid_ = throw_away_uid();
  const auto helper_from = helper_path();
  if (!helper_from) return tl::unexpected(helper_from.error());
  for (const std::string& left : sweep_stale("/var/tmp", kPrefix))
    ::unlink(("/tmp/" + left).c_str());
  std::string name = "/var/tmp/" + std::string(kPrefix) + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return host("a folder in /var/tmp", kSeeFolders);
  folder_ = name;
  held_ = hold(folder_);
  if (!held_.valid()) return host(folder_, kSeeFolders);
  // Open to everybody: what keeps a probe out must be its sandbox.
  if (::chmod(folder_.c_str(), 0777) != 0) return host(folder_, kSeeFolders);
  std::error_code error;
  fs::copy_file(*helper_from, helper(), error);
  if (error) errno = error.value();
  if (error || ::chmod(helper().c_str(), 0755) != 0) return host(helper(), kSeeFolders);
  if (!write_all(folder_ + "/canary", "CANARY-" + folder_.substr(folder_.size() - 6) + "\n", 0644))
    return host(folder_ + "/canary", kSeeFolders);
  tmp_file_ = "/tmp/" + fs::path(folder_).filename().string();
  if (!write_all(tmp_file_, "\n", 0644)) return host(tmp_file_, kSeeFolders);
  std::array<char, 256> name_of_host{};
  (void)::gethostname(name_of_host.data(), name_of_host.size() - 1);
  hostname_ = name_of_host.data();
  if (::setenv(kSecretVariable, "SECRET-OF-THE-CALLER", 1) != 0) return host("the environment");
  return {};
}

Result<void> Outside::listeners() {
  jail::Fd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  // Nobody accepts: a connection in the queue is reached well enough.
  if (!tcp.valid() || ::bind(tcp.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      ::listen(tcp.get(), 64) != 0 ||
      ::getsockname(tcp.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return host("a listener on 127.0.0.1");
  port_ = ntohs(at.sin_port);
  abstract_ = "@" + fs::path(folder_).filename().string();
  jail::Fd hidden(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  jail::Fd named(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  jail::Fd log(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string socket = folder_ + "/socket";
  const std::string log_path = folder_ + "/log";
  if (!bind_unix(hidden, abstract_) || ::listen(hidden.get(), 64) != 0 ||
      !bind_unix(named, socket) || ::listen(named.get(), 64) != 0 || !bind_unix(log, log_path) ||
      ::chmod(socket.c_str(), 0777) != 0 || ::chmod(log_path.c_str(), 0777) != 0)
    return host("local sockets");
  for (jail::Fd* fd : {&tcp, &hidden, &named, &log}) sockets_.push_back(std::move(*fd));
  return {};
}

// It ends when its input does: with us, whatever becomes of us.
Result<void> Outside::victim() {
  const auto layers = layers_path();
  if (!layers) return tl::unexpected(layers.error());
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return host("a pipe");
  const jail::Fd in_read(in[0]);
  victim_input_ = jail::Fd(in[1]);
  if (::pipe2(out.data(), O_CLOEXEC) != 0) return host("a pipe");
  const jail::Fd out_read(out[0]);
  jail::Fd out_write(out[1]);
  std::vector<std::string> words = {
      *layers, std::to_string(uid_), "/", "waits", "-1", "-1", "--", helper(), "--wait"};
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string variable = "REACH_VICTIM=yes";
  std::array<char*, 2> env = {variable.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in_read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, out_write.get(), 1);
  const int error = ::posix_spawn(&victim_, argv[0], &actions, nullptr, argv.data(), env.data());
  ::posix_spawn_file_actions_destroy(&actions);
  out_write.reset();
  std::array<char, 8> ready{};
  if (error != 0 || ::read(out_read.get(), ready.data(), ready.size()) <= 0) {
    errno = error == 0 ? ECHILD : error;
    return host("a process to be found");
  }
  return {};
}

// Without close-on-exec, as a careless caller leaves them.
Result<void> Outside::descriptors() {
  inherited_.emplace_back(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
  inherited_.emplace_back(::open("/dev/null", O_WRONLY));
  for (const jail::Fd& fd : inherited_)
    if (!fd.valid()) return host("descriptors");
  return {};
}

Outside::~Outside() {
  victim_input_.reset();
  if (victim_ > 0) {
    ::kill(victim_, SIGKILL);
    ::waitpid(victim_, nullptr, 0);
  }
  end_strays();
  ::unsetenv(kSecretVariable);
  if (!tmp_file_.empty()) ::unlink(tmp_file_.c_str());
  if (!folder_.empty()) remove(folder_);
}

// Whoever a probe, or a sandbox that is not ours, has left: their children come to us in turn.
void Outside::end_strays() const {
  constexpr int kRounds = 1000;
  std::size_t ended = 1;
  for (int i = 0; i < kRounds && ended > 0; ++i) {
    ended = 0;
    for (const pid_t pid : children()) {
      const auto earlier = std::find(earlier_children_.begin(), earlier_children_.end(), pid);
      // Not ours to end: of a set-user-id program.
      if (earlier != earlier_children_.end() || ::kill(pid, SIGKILL) != 0) continue;
      ++ended;
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

Result<std::string> Outside::work_folder(const std::string& name) const {
  std::string path = folder_ + "/work-" + name;
  if (::mkdir(path.c_str(), 0700) != 0 || ::chown(path.c_str(), uid_, ::getegid()) != 0)
    return host(path, kSeeFolders);
  return path;
}

Result<std::string> Outside::own_file(const std::string& name) const {
  std::string path = folder_ + "/own-" + name;
  if (!write_all(path, "own\n", 0644) ||
      ::chown(path.c_str(), uid_, ::geteuid() == 0 ? uid_ : ::getegid()) != 0)
    return host(path, kSeeFolders);
  return path;
}

void Outside::remove(const std::string& path) const noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::vector<std::string> Outside::environment(const std::string& helper,
                                              const std::string& own_file) const {
  return {"REACH_CANARY=" + folder_ + "/canary",
          "REACH_FOLDER=" + folder_,
          "REACH_FOLDER_NAME=" + fs::path(folder_).filename().string(),
          "REACH_OWN=" + own_file,
          "REACH_TMP=" + tmp_file_,
          "REACH_SELF=" + helper,
          "REACH_PID=" + std::to_string(victim_),
          "REACH_TCP=" + std::to_string(port_),
          "REACH_ABSTRACT=" + abstract_,
          "REACH_SOCKET=" + folder_ + "/socket",
          "REACH_LOG=" + folder_ + "/log",
          "REACH_HOSTNAME=" + hostname_};
}

std::string Outside::without_names(std::string text) const {
  replace_all(text, folder_, "<outside>");
  replace_all(text, fs::path(folder_).filename().string(), "<outside>");
  replace_all(text, "/proc/" + std::to_string(victim_), "/proc/<pid>");
  const std::string own = "<outside>/own-";
  for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos; ++at) {
    const std::size_t end = text.find_first_of(" :,", at);
    text.replace(at, end == std::string::npos ? end : end - at, "<outside>/own");
  }
  return text;
}

}  // namespace runner::reach
