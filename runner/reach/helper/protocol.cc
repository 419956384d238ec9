// Descriptors and streams that are shared with whoever started us, and words that want to be
// mistaken for the supervisor's.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

#include <csignal>
#include <cstdint>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

constexpr int kFirst = 3;
constexpr int kLast = 512;

Said inherited() {
  for (int fd = kFirst; fd < kLast; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) return reached("a descriptor is open");
  return blocked(EBADF, "nothing but the standard streams");
}

// An inherited folder leads out whatever the root is (CVE-2024-21626).
Said inherited_folder() {
  Said said = blocked(EBADF, "no folder among the descriptors");
  const char* path = given("REACH_CANARY");
  for (int fd = kFirst; fd < kLast; ++fd) {
    struct stat st {};
    if (::fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    char way[700];
    std::snprintf(way, sizeof way, "../../../../../../../..%s", path);
    const int file = ::openat(fd, way, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      said = blocked(errno, "from an inherited folder");
      continue;
    }
    shut(file);
    return reached("opened the canary by way of an inherited folder");
  }
  return said;
}

// A frame as a session's channel has them: length, then JSON.
Said forged_frames() {
  constexpr char kFrame[] = "\0\0\0\x20{\"type\":\"outcome\",\"word\":\"ok\"} ";
  for (int fd = kFirst; fd < kLast; ++fd) {
    struct stat st {};
    if (::fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) continue;
    if (::write(fd, kFrame, sizeof kFrame - 1) > 0) return reached("wrote a frame to a descriptor");
  }
  return blocked(EBADF, "no descriptor to write a frame to");
}

Said streams_not_blocking() {
  const int flags = ::fcntl(1, F_GETFL);
  const Said said = must_work(::fcntl(1, F_SETFL, flags | O_NONBLOCK), "O_NONBLOCK on stdout");
  ::fcntl(1, F_SETFL, flags);
  return said;
}

Said read_input() {
  char text[64];
  const ssize_t got = ::read(0, text, sizeof text);
  if (got > 0) return reached("read our caller's standard input");
  return blocked(got < 0 ? errno : 0, "an end of file at once");
}

Said take_terminal() {
  const int tty = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (tty < 0) return blocked(errno, "open /dev/tty");
  const Said said = must_work(::ioctl(tty, TIOCSCTTY, 0), "TIOCSCTTY");
  shut(tty);
  return said;
}

// Whoever can name another's descriptors can open them anew and write into its streams.
Said streams_of_others() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%s/fd", given("REACH_PID"));
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return blocked(errno, "open the descriptors of a process outside");
  shut(folder);
  return reached("the descriptors of a process outside");
}

Said grow_pipe() { return must_work(::fcntl(1, F_SETPIPE_SZ, 1 << 20), "F_SETPIPE_SZ on stdout"); }

Said own_signal() { return must_work(::fcntl(1, F_SETOWN, ::getppid()), "F_SETOWN on stdout"); }

// Says that it was killed for its memory; what ended it is known to who ran it.
Said claims_memory() {
  constexpr char kText[] = "{\"outcome\":\"out_of_memory\",\"exit_code\":137}\n";
  (void)!::write(1, kText, sizeof kText - 1);
  (void)!::write(2, kText, sizeof kText - 1);
  constexpr char kEnd[] = "BLOCKED - its word was not taken for ours\n";
  (void)!::write(1, kEnd, sizeof kEnd - 1);
  ::_exit(137);
}

// Terminal escapes, a NUL and broken UTF-8, before the verdict.
Said hostile_bytes() {
  constexpr char kText[] = "\033]0;title\007\033]52;c;eA==\007\033[2J\xff\xfe\xc0\xaf\0 end\n";
  if (::write(1, kText, sizeof kText - 1) < 0) return blocked(errno, "write");
  return reached("wrote terminal escapes and broken UTF-8 to stdout");
}

constexpr Entry kEntries[] = {
    {"c01", inherited},         {"c02", inherited_folder},
    {"c03", forged_frames},     {"c04", streams_not_blocking},
    {"c05", read_input},        {"c06", take_terminal},
    {"c07", streams_of_others}, {"c08", grow_pipe},
    {"c09", own_signal},        {"c10", claims_memory},
    {"c11", hostile_bytes},
};

}  // namespace

Table protocol_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
