// Things left in the working folder for whoever fetches files from there to trip over. What became
// of them is seen by who fetches, so these only say whether they could be planted.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

Said planted(long result, const char* what) {
  return result < 0 ? blocked(errno, "could not plant %s", what) : reached("planted %s", what);
}

Said link_to_canary() {
  return planted(::symlink(given("REACH_CANARY"), "result.txt"), "a link to the canary");
}

Said link_to_folder() {
  return planted(::symlink(given("REACH_FOLDER"), "results"), "a link to a folder outside");
}

Said climbing_link() {
  char path[700];
  std::snprintf(path, sizeof path, "../../../../../../../../..%s", given("REACH_CANARY"));
  return planted(::symlink(path, "up.txt"), "a link that climbs to the canary");
}

Said magic_link() {
  char path[700];
  std::snprintf(path, sizeof path, "/proc/self/root%s", given("REACH_CANARY"));
  return planted(::symlink(path, "root.txt"), "a link by way of /proc/self/root");
}

Said fifo() { return planted(::mkfifo("result.fifo", 0666), "a FIFO"); }

Said endless_device() { return planted(::symlink("/dev/zero", "zero.bin"), "a link to /dev/zero"); }

Said local_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return blocked(errno, "could not make a socket");
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::snprintf(at.sun_path, sizeof at.sun_path, "result.sock");
  const Said said =
      planted(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), "a socket");
  shut(fd);
  return said;
}

// Takes no space; a reader that believes its length fills its memory.
Said sparse() {
  const int file = ::open("result.bin", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) return blocked(errno, "could not create");
  const Said said =
      planted(::ftruncate(file, off_t{100} << 20U), "a file of 100 MiB without bytes");
  shut(file);
  return said;
}

Said deep() {
  int made = 0;
  for (; made < 400 && ::mkdir("d", 0755) == 0 && ::chdir("d") == 0; ++made) {
  }
  if (made < 400) return blocked(errno, "could not nest deeper than %d", made);
  (void)write_file("bottom.txt", "CANARY-of-the-depth\n");
  return reached("planted 400 nested folders");
}

Said many() {
  char name[32];
  for (int i = 0; i < 300; ++i) {
    std::snprintf(name, sizeof name, "file-%03d.txt", i);
    if (!write_file(name, "x")) return blocked(errno, "could not create file %d", i);
  }
  return reached("planted 300 files");
}

// A terminal's escapes, a line break and broken UTF-8 in names.
Said odd_names() {
  const bool made = write_file("a\nb.txt", "x") && write_file("\033]0;x\007.txt", "x") &&
                    write_file("\xff\xfe.txt", "x") && write_file("..txt", "x") &&
                    write_file("-rf", "x");
  return planted(made ? 0 : -1, "files with odd names");
}

Said hard_link() {
  return planted(::link(given("REACH_OWN"), "hard.txt"), "a hard link to a file outside");
}

constexpr Entry kEntries[] = {
    {"h01", link_to_canary}, {"h02", link_to_folder}, {"h03", climbing_link}, {"h04", magic_link},
    {"h05", fifo},           {"h06", endless_device}, {"h07", local_socket},  {"h08", sparse},
    {"h09", deep},           {"h10", many},           {"h11", odd_names},     {"h12", hard_link},
};

}  // namespace

Table plants() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
