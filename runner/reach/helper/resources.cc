// Using up what is the host's. Each stops by itself at a size that a small limit does not reach and
// a host does not feel, and gives back what it took. The suite runs them under a tightened copy of
// the policy: 96 MiB, 24 processes, 2 s of wall time, 0.5 s of processor time, 4 MiB of workdir.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <ctime>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kMemory = 160 * kMiB;  // in all

Said many_processes() {
  constexpr int kMany = 64;
  int hold[2];
  if (::pipe(hold) != 0) return blocked(errno, "pipe");
  static pid_t children[kMany];
  int made = 0;
  int error = 0;
  while (made < kMany && error == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      char byte = 0;
      shut(hold[1]);
      (void)!::read(hold[0], &byte, 1);
      ::_exit(0);
    }
    if (child < 0) {
      error = errno;
    } else {
      children[made++] = child;
    }
  }
  shut(hold[1]);
  for (int i = 0; i < made; ++i) ::waitpid(children[i], nullptr, 0);
  if (made == kMany) return reached("started %d processes at once", kMany);
  return blocked(error, "after %d processes", made);
}

pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

void* at_gate(void* /*unused*/) {
  ::pthread_mutex_lock(&gate);
  ::pthread_mutex_unlock(&gate);
  return nullptr;
}

Said many_threads() {
  constexpr int kMany = 80;
  static pthread_t threads[kMany];
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 65536);
  ::pthread_mutex_lock(&gate);
  int made = 0;
  int error = 0;
  while (made < kMany && error == 0) {
    error = ::pthread_create(&threads[made], &small, at_gate, nullptr);
    made += error == 0 ? 1 : 0;
  }
  ::pthread_mutex_unlock(&gate);
  for (int i = 0; i < made; ++i) ::pthread_join(threads[i], nullptr);
  if (made == kMany) return reached("started %d threads at once", kMany);
  return blocked(error, "after %d threads", made);
}

Said touch(void* at, std::size_t size) {
  auto* bytes = static_cast<volatile char*>(at);
  for (std::size_t i = 0; i < size; i += 4096) bytes[i] = 1;
  ::munmap(at, size);
  return reached("filled %zu MiB of memory", size / kMiB);
}

Said heap() {
  void* at = ::mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? blocked(errno, "mmap") : touch(at, kMemory);
}

// Each below the limit, together above it: a limit for each process alone lets this pass.
Said heap_of_several() {
  constexpr int kChildren = 4;
  static pid_t children[kChildren];
  int hold[2];
  int ready[2];
  if (::pipe(hold) != 0 || ::pipe(ready) != 0) return blocked(errno, "pipe");
  int made = 0;
  for (; made < kChildren; ++made) {
    children[made] = ::fork();
    if (children[made] < 0) break;
    if (children[made] > 0) continue;
    shut(hold[1]);
    void* at =
        ::mmap(nullptr, 40 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char byte = at == MAP_FAILED ? 'n' : 'y';
    if (byte == 'y') std::memset(at, 1, 40 * kMiB);
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(hold[0], &byte, 1);
    ::_exit(0);
  }
  const int error = made < kChildren ? errno : 0;
  shut(ready[1]);
  int filled = 0;
  char byte = 0;
  while (filled < made && ::read(ready[0], &byte, 1) == 1 && byte == 'y') ++filled;
  shut(hold[1]);
  shut(hold[0]);
  for (int i = 0; i < made; ++i) ::waitpid(children[i], nullptr, 0);
  if (filled == kChildren) return reached("four processes filled 160 MiB together");
  return blocked(error, "one of four processes got no memory");
}

Said memory_file() {
  const int file = static_cast<int>(call(SYS_memfd_create, "reach", 1));
  if (file < 0) return blocked(errno, "memfd_create");
  if (::ftruncate(file, static_cast<off_t>(kMemory)) != 0) return blocked(errno, "ftruncate");
  static char block[kMiB];
  for (std::size_t done = 0; done < kMemory; done += kMiB)
    if (::write(file, block, kMiB) != static_cast<ssize_t>(kMiB)) return blocked(errno, "write");
  ::usleep(300'000);  // for who looks now and then
  return reached("filled 160 MiB of a memory file");
}

// A segment that nobody has attached belongs to no process, and keeps its memory. In pieces, so
// that no process ever has much.
Said detached_segments() {
  constexpr int kPieces = 8;
  constexpr std::size_t kPiece = kMemory / kPieces;
  static int ids[kPieces];
  int made = 0;
  int error = 0;
  for (; made < kPieces && error == 0; ++made) {
    ids[made] = static_cast<int>(call(SYS_shmget, 0, kPiece, 01600));
    const long at = ids[made] < 0 ? -1 : call(SYS_shmat, ids[made], nullptr, 0);
    if (at == -1) {
      error = errno;
      continue;
    }
    auto* bytes = reinterpret_cast<volatile char*>(at);
    for (std::size_t i = 0; i < kPiece; i += 4096) bytes[i] = 1;
    call(SYS_shmdt, at);
  }
  if (error == 0) ::usleep(300'000);  // for who looks now and then
  for (int i = 0; i < made; ++i) call(SYS_shmctl, ids[i], 0, nullptr);  // IPC_RMID
  return error == 0 ? reached("left 160 MiB in segments that no process has")
                    : blocked(error, "shared segments");
}

// Buffers that the kernel holds for us; 64 MiB is what it gives an unprivileged user at most.
constexpr std::size_t kPipes = 40 * kMiB;
Said pipe_buffers() {
  static char block[65536];
  std::size_t held = 0;
  int error = 0;
  while (error == 0 && held < kPipes) {
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) {
      error = errno;
      break;
    }
    const ssize_t n = ::write(ends[1], block, sizeof block);
    held += n > 0 ? static_cast<std::size_t>(n) : 4096;
    if (n > 0 && n < static_cast<ssize_t>(sizeof block)) error = EAGAIN;
  }
  if (error == 0) return reached("40 MiB in pipes");
  return blocked(error, "fewer than 40 MiB in pipes");
}

Said fill_folder(const char* folder, std::size_t size) {
  char path[200];
  std::snprintf(path, sizeof path, "%s/reach-fill-%d", folder, ::getpid());
  const int file = ::open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return blocked(errno, "create in %s", folder);
  ::unlink(path);
  static char block[kMiB];
  std::size_t done = 0;
  ssize_t n = 0;
  while (done < size && (n = ::write(file, block, kMiB)) > 0) done += static_cast<std::size_t>(n);
  const int error = errno;
  shut(file);
  if (done >= size) return reached("wrote %zu MiB to %s", done / kMiB, folder);
  return blocked(error, "after %zu MiB in %s", done / kMiB, folder);
}

// A length alone takes no space, but whoever reads such a file believes it.
Said sparse() {
  const int file = ::open("reach-sparse", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return blocked(errno, "create");
  ::unlink("reach-sparse");
  (void)std::signal(SIGXFSZ, SIG_IGN);
  const Said said = must_work(::ftruncate(file, off_t{3} << 30U), "a file of 3 GiB");
  shut(file);
  return said;
}

Said descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr int kMany = 2000;
  const int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (first < 0) return blocked(errno, "open /dev/null");
  int made = 1;
  while (made < kMany && ::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++made;
  const int error = errno;
  call(SYS_close_range, 3, ~0U, 0);
  return made == kMany ? reached("opened %d files at once", kMany)
                       : blocked(error, "after %d files", made);
}

// As long as a limit on wall time lets it.
Said sleep_on() {
  timespec left{3, 0};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
  return reached("slept for 3 s");
}

Said deaf() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  for (int signal = 1; signal < 32; ++signal) (void)std::signal(signal, SIG_IGN);
  return sleep_on();
}

void burn(long milliseconds) {
  timespec used{};
  volatile unsigned long count = 0;
  while (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 &&
         used.tv_sec * 1000 + used.tv_nsec / 1'000'000 < milliseconds)
    for (int i = 0; i < 100000; ++i) count = count + 1;
}

Said burn_alone() {
  burn(1000);
  return reached("used 1 s of processor time");
}

// Everything it starts asks for processor time, too.
Said burn_by_several() {
  pid_t children[4];
  int made = 0;
  while (made < 4 && (children[made] = ::fork()) > 0) ++made;
  if (made < 4 && children[made] == 0) {
    burn(350);
    ::_exit(0);
  }
  if (made == 0) return blocked(errno, "fork");
  for (int i = 0; i < made; ++i) ::waitpid(children[i], nullptr, 0);
  return reached("four processes used 1.4 s together");
}

Said flood(int stream) {
  static char block[65536];
  std::memset(block, 'x', sizeof block);
  block[sizeof block - 1] = '\n';
  for (int i = 0; i < 64; ++i)
    for (std::size_t sent = 0; sent < sizeof block;) {
      const ssize_t n = ::write(stream, block + sent, sizeof block - sent);
      if (n < 0 && errno != EINTR) return blocked(errno, "write");
      if (n > 0) sent += static_cast<std::size_t>(n);
    }
  return reached("wrote 4 MiB of output");
}

Said real_time() {
  sched_param param{};
  param.sched_priority = 1;
  return must_work(::sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
}

Said lock_memory() {
  void* at = ::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return blocked(errno, "mmap");
  const Said said = must_work(::mlock(at, kMiB), "locking 1 MiB into memory");
  ::munmap(at, kMiB);
  return said;
}

Said core() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return blocked(errno, "getrlimit");
  // 1 is as good as 0, and starts no handler of cores either (core(5)).
  if (limit.rlim_max <= 1) return blocked(0, "no core file, ever");
  return reached("core files may be written");
}

Said raise_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return blocked(errno, "getrlimit");
  const rlimit more{limit.rlim_max + 1, limit.rlim_max + 1};
  return must_work(::setrlimit(RLIMIT_NOFILE, &more), "raising a hard limit");
}

// Each is memory of the kernel's, and a signal kept ready.
Said timers() {
  constexpr int kMany = 3000;
  int made = 0;
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  while (made < kMany && ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) ++made;
  const int error = errno;
  return made == kMany ? reached("made %d timers", kMany)
                       : blocked(error, "fewer than %d timers", kMany);
}

// 0, or the errno of a fork that failed: ours or our child's, whose child is left to PID 1.
int leave_orphan() {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    const pid_t orphan = ::fork();
    ::_exit(orphan < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// More of them, one after the other, than there may be processes: if nobody reaps them, there is
// soon no room for any more.
Said orphans() {
  int error = 0;
  for (int i = 0; i < 80; ++i) {
    error = leave_orphan();
    for (int tries = 0; error == EAGAIN && tries < 50; ++tries) {
      ::usleep(10'000);
      error = leave_orphan();
    }
    if (error == EAGAIN) return reached("dead processes pile up, since nobody reaps them");
    if (error != 0) return blocked(error, "fork");
  }
  return blocked(0, "whoever it leaves is reaped");
}

constexpr Entry kEntries[] = {
    {"r01", many_processes},
    {"r02", many_threads},
    {"r03", heap},
    {"r04", heap_of_several},
    {"r05", memory_file},
    {"r06", pipe_buffers},
    {"r07", [] { return fill_folder(".", 16 * kMiB); }},
    {"r08", [] { return fill_folder("/tmp", 160 * kMiB); }},
    {"r09", [] { return fill_folder("/dev/shm", 160 * kMiB); }},
    {"r10", sparse},
    {"r11", descriptors},
    {"r12", sleep_on},
    {"r13", deaf},
    {"r14", burn_alone},
    {"r15", burn_by_several},
    {"r16", [] { return flood(1); }},
    {"r17", [] { return flood(2); }},
    {"r18", real_time},
    {"r19", lock_memory},
    {"r20", core},
    {"r21", raise_limit},
    {"r22", detached_segments},
    {"r23", timers},
    {"r24", orphans},
};

}  // namespace

Table resource_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
