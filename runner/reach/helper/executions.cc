// Running what was written; locks and watches on files that all sandboxes share.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <csignal>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

const char* self() { return given("REACH_SELF"); }

// A file that every sandbox on the host sees.
const char* shared_file() {
  constexpr const char* kPaths[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3"};
  return ::access(kPaths[0], R_OK) == 0 ? kPaths[0] : kPaths[1];
}

// Replaces this process: the program that comes then says REACHED itself.
Said execute(const char* path, const char* what) {
  char* const argv[] = {const_cast<char*>("reach"), const_cast<char*>("--say"),
                        const_cast<char*>(what), nullptr};
  char* const env[] = {nullptr};
  ::execve(path, argv, env);
  return blocked(errno, "execve of %s", what);
}

Said run_written(const char* folder) {
  char path[300];
  std::snprintf(path, sizeof path, "%s/reach-copy", folder);
  ::unlink(path);
  if (const int error = copy_file(self(), path); error != 0)
    return blocked(error, "no copy of a program in %s", folder);
  const int opened = ::open(path, O_RDONLY | O_CLOEXEC);
  ::fchmod(opened, 0755);
  ::unlink(path);
  // By its descriptor: it is gone from the folder already, whatever becomes of us.
  char by_fd[64];
  std::snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d", opened);
  if (::access("/proc/self", F_OK) == 0) return execute(by_fd, "a program that was just written");
  char* const argv[] = {const_cast<char*>("reach"), const_cast<char*>("--say"), nullptr};
  char* const env[] = {nullptr};
  call(SYS_execveat, opened, "", argv, env, AT_EMPTY_PATH);
  return blocked(errno, "execveat of a program that was just written");
}

Said run_memory() {
  const int file = static_cast<int>(call(SYS_memfd_create, "reach", 0));
  if (file < 0) return blocked(errno, "memfd_create");
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const int in = ::open(self(), O_RDONLY | O_CLOEXEC);
  char buffer[65536];
  for (ssize_t n = 0; (n = ::read(in, buffer, sizeof buffer)) > 0;)
    if (::write(file, buffer, static_cast<std::size_t>(n)) != n) return blocked(errno, "write");
  shut(in);
  ::fchmod(file, 0700);
  char* const argv[] = {const_cast<char*>("reach"), const_cast<char*>("--say"),
                        const_cast<char*>("a program from memory"), nullptr};
  char* const env[] = {nullptr};
  call(SYS_execveat, file, "", argv, env, AT_EMPTY_PATH);
  return blocked(errno, "execveat of memory");
}

// What a loader does: it needs no right to run the file itself.
Said map_written() {
  if (const int error = copy_file(self(), "reach-mapped"); error != 0)
    return blocked(error, "no copy of a program");
  const int file = ::open("reach-mapped", O_RDONLY | O_CLOEXEC);
  void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  const int error = errno;
  ::unlink("reach-mapped");
  shut(file);
  if (at == MAP_FAILED) return blocked(error, "mmap of a written file, executable");
  return reached("mapped code that was just written");
}

Said lock_shared() {
  const int file = ::open(shared_file(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open %s", shared_file());
  const Said said = must_work(::flock(file, LOCK_SH | LOCK_NB), "flock of a file all share");
  shut(file);
  return said;
}

Said record_lock() {
  const int file = ::open(shared_file(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open %s", shared_file());
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_len = 1;
  const Said said = must_work(::fcntl(file, F_SETLK, &lock), "a record lock on a file all share");
  shut(file);
  return said;
}

Said own_lease() {
  if (!write_file("reach-lease", "x")) return blocked(errno, "no file of our own");
  const int file = ::open("reach-lease", O_RDONLY | O_CLOEXEC);
  (void)std::signal(SIGIO, SIG_IGN);
  const Said said = must_work(::fcntl(file, F_SETLEASE, F_RDLCK), "a lease on a file of ours");
  shut(file);
  ::unlink("reach-lease");
  return said;
}

Said dnotify() {
  const int folder = ::open("/usr/lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return blocked(errno, "open /usr/lib");
  (void)std::signal(SIGIO, SIG_IGN);
  const Said said = must_work(::fcntl(folder, F_NOTIFY, DN_ACCESS), "F_NOTIFY on a shared folder");
  shut(folder);
  return said;
}

Said watch_shared() {
  const int watcher = ::inotify_init1(IN_CLOEXEC);
  if (watcher < 0) return blocked(errno, "inotify_init1");
  const Said said = must_work(::inotify_add_watch(watcher, "/usr/lib", IN_OPEN),
                              "watching who opens what in a folder all share");
  shut(watcher);
  return said;
}

// Dirty Pipe's and Dirty COW's first steps, none of their last.
Said splice_shared() {
  int ends[2];
  if (::pipe(ends) != 0) return blocked(errno, "pipe");
  const int file = ::open(shared_file(), O_RDONLY | O_CLOEXEC);
  long offset = 0;
  const Said said = must_work(call(SYS_splice, file, &offset, ends[1], nullptr, 1, 0),
                              "splice of a shared file's page into a pipe");
  shut(file);
  shut(ends[0]);
  shut(ends[1]);
  return said;
}

Said own_memory() { return open_it("/proc/self/mem", O_RDWR); }

constexpr Entry kEntries[] = {
    {"f41", [] { return run_written("."); }},
    {"f42", [] { return run_written("/tmp"); }},
    {"f43", [] { return run_written("/dev/shm"); }},
    {"f44", run_memory},
    {"f45", map_written},
    {"f46", [] { return execute(self(), "itself, again"); }},
    {"f47", lock_shared},
    {"f48", record_lock},
    {"f50", own_lease},
    {"f51", dnotify},
    {"f52", watch_shared},
    {"f53", splice_shared},
    {"f54", own_memory},
};

}  // namespace

Table execution_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
