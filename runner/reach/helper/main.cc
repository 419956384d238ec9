// sandglass-reach ID: carries one probe out and prints one line, "REACHED detail" or
// "BLOCKED ERRNO reason"; exits with 0. sandglass-reach --list names all ids.
//
// --filter FD: puts the seccomp program that lies in this file on itself first, for trying one
// layer alone. --wait: is the process that probes look for. --facts [all]: facts.h.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <csignal>

#include "runner/reach/helper/facts.h"
#include "runner/reach/helper/say.h"

namespace {

using reach::Said;
using reach::Table;

constexpr Table (*kTables[])() = {reach::file_probes,        reach::execution_probes,
                                  reach::process_probes,     reach::kernel_probes,
                                  reach::kernel_more_probes, reach::network_probes,
                                  reach::resource_probes,    reach::information_probes,
                                  reach::protocol_probes,    reach::plants};

// No stdio buffers of size unknown to a sandbox: one write.
void tell(const Said& said) {
  char line[320];
  int size = 0;
  if (said.reached) {
    size = std::snprintf(line, sizeof line, "REACHED %s\n", said.text);
  } else {
    const char* name = said.error == 0 ? "-" : strerrorname_np(said.error);
    size = std::snprintf(line, sizeof line, "BLOCKED %s %s\n", name == nullptr ? "-" : name,
                         said.text);
  }
  for (int sent = 0; sent < size;) {
    const ssize_t n = ::write(1, line + sent, static_cast<std::size_t>(size - sent));
    if (n <= 0 && errno != EINTR && errno != EAGAIN) ::_exit(3);
    if (n > 0) sent += static_cast<int>(n);
  }
}

int filter_self(int file) {
  static sock_filter program[4096];
  const ssize_t size = ::pread(file, program, sizeof program, 0);
  if (size <= 0) return 125;
  reach::shut(file);
  const sock_fprog filter{
      static_cast<unsigned short>(static_cast<std::size_t>(size) / sizeof(sock_filter)), program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 125;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : 125;
}

int wait_to_be_found() {
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  char byte = 0;
  (void)!::write(1, "ready\n", 6);
  while (::read(0, &byte, 1) > 0) {
  }
  return 0;
}

int list() {
  for (const auto table : kTables)
    for (std::size_t i = 0; i < table().size; ++i) std::puts(table().first[i].id);
  return 0;
}

int run(const char* id) {
  for (const auto table : kTables) {
    const Table probes = table();
    for (std::size_t i = 0; i < probes.size; ++i) {
      if (std::strcmp(probes.first[i].id, id) != 0) continue;
      tell(probes.first[i].run());
      return 0;
    }
  }
  std::fprintf(stderr, "sandglass-reach: no probe %s; --list names them\n", id);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int at = 1;
  if (argc > at + 1 && std::strcmp(argv[at], "--filter") == 0) {
    if (const int failed = filter_self(std::atoi(argv[at + 1])); failed != 0) return failed;
    at += 2;
  }
  const char* word = argc > at ? argv[at] : "--list";
  if (std::strcmp(word, "--facts") == 0)
    return reach::print_facts(argc > at + 1 ? reach::Calls::kTried : reach::Calls::kIfFiltered);
  if (std::strcmp(word, "--wait") == 0) return wait_to_be_found();
  // What exec probes leave in their place says this.
  if (std::strcmp(word, "--say") == 0) {
    tell(reach::reached("ran %s", argc > at + 1 ? argv[at + 1] : "another program"));
    return 0;
  }
  return std::strcmp(word, "--list") == 0 ? list() : run(word);
}
