// How a probe says what came of it, and the few tools they share. libc only: the program must run
// in any sandbox. A probe does one harmless act, takes away what it made, and returns.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace reach {

struct Said {
  bool reached = false;
  int error = 0;
  char text[200] = "";
};

[[gnu::format(printf, 1, 2)]] Said reached(const char* format, ...);
[[gnu::format(printf, 2, 3)]] Said blocked(int error, const char* format, ...);

// Of a system call's result: -1 with EPERM, EACCES or ENOSYS is blocked. Any other error means that
// the kernel has looked at the arguments: reached.
Said looked_at(long result, const char* call);

// Of a call that has to succeed: any error is blocked.
Said must_work(long result, const char* call);

template <class... Args>
long call(long number, Args... args) {
  return ::syscall(number, args...);
}

// What the suite has set up, by the environment; "" if it has not.
const char* given(const char* name);

// A file that holds the word CANARY-: reached with what was read.
Said read_canary(const char* path);
// Whether the file can be opened with `flags`; nothing is written.
Said open_it(const char* path, int flags);

void shut(int fd);
bool write_file(const char* path, const char* text);
// 0, or an errno.
int copy_file(const char* from, const char* to);

// In a child with a user namespace of its own (and what `more` names), as root there where that is
// possible: how an unprivileged attacker gets capabilities. Falls back to what `act` says without.
Said with_borrowed_root(int more, Said (*act)());

// Runs `act` in a child, where one can be made, so that what it changes of its process is gone.
Said in_child(Said (*act)());

struct Entry {
  const char* id;
  Said (*run)();
};
struct Table {
  const Entry* first;
  std::size_t size;
};

Table file_probes();
Table execution_probes();
Table process_probes();
Table kernel_probes();
Table kernel_more_probes();
Table network_probes();
Table resource_probes();
Table information_probes();
Table protocol_probes();
Table plants();

}  // namespace reach
