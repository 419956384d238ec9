// System calls that open more of the kernel than code needs, one a probe. Arguments are such that
// nothing happens where the call is let through.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>

#include <csetjmp>
#include <csignal>
#include <initializer_list>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

Said bpf_map() {
  bpf_attr attr{};
  attr.map_type = BPF_MAP_TYPE_ARRAY;
  attr.key_size = attr.value_size = 4;
  attr.max_entries = 1;
  return looked_at(call(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr), "bpf(BPF_MAP_CREATE)");
}

// A program of one instruction, "return 0", without a licence to anything.
Said bpf_program() {
  bpf_insn nothing[2] = {};
  nothing[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  nothing[1].code = BPF_JMP | BPF_EXIT;
  bpf_attr attr{};
  attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attr.insn_cnt = 2;
  attr.insns = reinterpret_cast<unsigned long>(nothing);
  attr.license = reinterpret_cast<unsigned long>("x");
  return looked_at(call(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr), "bpf(BPF_PROG_LOAD)");
}

Said perf() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return looked_at(call(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

Said ring() {
  io_uring_params params{};
  return looked_at(call(SYS_io_uring_setup, 1, &params), "io_uring_setup");
}

// Opening a file without open(2): what a ring is to a filter.
Said ring_open() {
  io_uring_params params{};
  const int fd = static_cast<int>(call(SYS_io_uring_setup, 4, &params));
  if (fd < 0) return blocked(errno, "io_uring_setup");
  const std::size_t ring_size = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
  const std::size_t sq_size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  auto* sq = static_cast<char*>(::mmap(nullptr, sq_size > ring_size ? sq_size : ring_size,
                                       PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING));
  void* entries = ::mmap(nullptr, params.sq_entries * sizeof(io_uring_sqe), PROT_READ | PROT_WRITE,
                         MAP_SHARED, fd, static_cast<off_t>(IORING_OFF_SQES));
  if (sq == MAP_FAILED || entries == MAP_FAILED) return blocked(errno, "mmap of the ring");
  auto* entry = static_cast<io_uring_sqe*>(entries);
  std::memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_OPENAT;
  entry->fd = AT_FDCWD;
  entry->addr = reinterpret_cast<unsigned long>(given("REACH_CANARY"));
  entry->open_flags = O_RDONLY | O_CLOEXEC;
  *reinterpret_cast<unsigned*>(sq + params.sq_off.array) = 0;
  __atomic_fetch_add(reinterpret_cast<unsigned*>(sq + params.sq_off.tail), 1, __ATOMIC_RELEASE);
  if (call(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0)
    return blocked(errno, "io_uring_enter");
  const auto* done = reinterpret_cast<const io_uring_cqe*>(sq + params.cq_off.cqes);
  if (done->res < 0) return blocked(-done->res, "opening the canary by a ring");
  return reached("opened the canary by a ring, without open(2)");
}

// Session-wide memory, seen by whoever shares the keyring; taken back at once.
Said keyring() {
  const long key = call(SYS_add_key, "user", "reach-probe", "x", 1, KEY_SPEC_USER_KEYRING);
  if (key < 0) return looked_at(key, "add_key");
  call(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0, 0);
  return reached("kept a key in the user's keyring");
}

Said memory_secret() { return looked_at(call(SYS_memfd_secret, 0), "memfd_secret"); }

Said writable_code() {
  void* at =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? blocked(errno, "memory that is writable and executable")
                          : reached("memory that is writable and executable");
}

Said code_from_data() {
  void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return blocked(errno, "mmap");
  return must_work(::mprotect(at, 4096, PROT_READ | PROT_EXEC), "making written memory executable");
}

// Our own code, in place: text of a static program is mapped executable already.
long by_int80(long number, long a, long b, long c) {
  long result = 0;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(a), "c"(b), "d"(c)
               : "memory", "r8", "r9", "r10", "r11");
  return static_cast<int>(result);
}

Said old_gate() {
  const long pid = by_int80(20, 0, 0, 0);  // i386 getpid
  if (pid == ::getpid()) return reached("called getpid through int 0x80");
  return blocked(pid < 0 ? static_cast<int>(-pid) : 0, "int 0x80");
}

// The i386 open takes 32-bit pointers: the path is copied to where they reach.
Said old_gate_open() {
  auto* low = static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
  if (low == MAP_FAILED) return blocked(errno, "mmap below 4 GiB");
  std::snprintf(low, 4096, "%s", given("REACH_CANARY"));
  const long file = by_int80(5, reinterpret_cast<long>(low), O_RDONLY, 0);
  if (file < 0) return blocked(static_cast<int>(-file), "i386 open of the canary");
  return reached("opened the canary through int 0x80");
}

// x32: bit 30 of the number.
Said x32() { return must_work(call(0x40000000 + SYS_getpid), "x32 getpid"); }

Said unknown_number() { return looked_at(call(1023), "a call without a name"); }

// Filters see 64 bits, the kernel 32 of them.
Said high_bits() {
  const long kHigh = 1L << 32;
  const long result = call(SYS_personality, kHigh | ADDR_NO_RANDOMIZE);
  const Said said = must_work(result, "personality with bits above the argument's 32");
  if (result >= 0) ::personality(static_cast<unsigned long>(result));
  return said;
}

Said no_randomisation() {
  const int now = ::personality(0xffffffff);
  const int result = ::personality(ADDR_NO_RANDOMIZE);
  const Said said = must_work(result, "personality(ADDR_NO_RANDOMIZE)");
  if (result >= 0 && now >= 0) ::personality(static_cast<unsigned long>(now));
  return said;
}

sigjmp_buf back;

void leap(int signal) { ::siglongjmp(back, signal); }

// time(2) at an address that never changes. A host without the page answers with SIGSEGV.
Said vsyscall() {
  for (const int signal : {SIGSEGV, SIGBUS}) (void)std::signal(signal, leap);
  if (sigsetjmp(back, 1) != 0) return blocked(EFAULT, "no vsyscall page");
  long seconds = 0;
  auto* entry = reinterpret_cast<long (*)(long*)>(0xffffffffff600400UL);
  return entry(&seconds) > 0 ? reached("called the vsyscall page") : blocked(EPERM, "vsyscall");
}

constexpr Entry kEntries[] = {
    {"k01", bpf_map},
    {"k02", bpf_program},
    {"k03", perf},
    {"k04", [] { return looked_at(call(SYS_userfaultfd, 1 | O_CLOEXEC), "userfaultfd"); }},
    {"k05", ring},
    {"k06", ring_open},
    {"k07", keyring},
    {"k08", [] { return looked_at(call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -1, 1), "keyctl"); }},
    {"k09",
     [] { return looked_at(call(SYS_request_key, "user", "reach", nullptr, 0), "request_key"); }},
    {"k10", memory_secret},
    {"k11", writable_code},
    {"k12", code_from_data},
    {"k13", old_gate},
    {"k14", old_gate_open},
    {"k15", x32},
    {"k16", unknown_number},
    {"k17", high_bits},
    {"k18", no_randomisation},
    {"k19", vsyscall},
    {"k20", [] { return looked_at(call(SYS_vmsplice, -1, nullptr, 0, 0), "vmsplice"); }},
    {"k21",
     [] { return looked_at(call(SYS_remap_file_pages, 0, 0, 0, 0, 0), "remap_file_pages"); }},
    {"k22", [] { return looked_at(call(SYS_mbind, 0, 0, 9999, nullptr, 0, 0), "mbind"); }},
    {"k23",
     [] {
       return looked_at(call(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr, 0), "move_pages");
     }},
    {"k24", [] { return looked_at(call(SYS_fanotify_init, 0x200, O_RDONLY), "fanotify_init"); }},
    {"k25", [] { return looked_at(call(SYS_memfd_create, "reach", 1), "memfd_create"); }},
    {"k26", [] { return looked_at(call(SYS_shmget, 0, 4096, 01600), "shmget"); }},
    {"k27",
     [] {
       const Said said =
           looked_at(call(SYS_mq_open, "reach-queue", O_CREAT | O_RDWR, 0600, nullptr), "mq_open");
       call(SYS_mq_unlink, "reach-queue");
       return said;
     }},
    {"k28",
     [] { return looked_at(call(SYS_process_madvise, -1, nullptr, 0, 0, 0), "process_madvise"); }},
    {"k29", [] { return looked_at(call(SYS_process_mrelease, -1, 0), "process_mrelease"); }},
    {"k30",
     [] {
       unsigned long context = 0;
       return looked_at(call(SYS_io_setup, 1, &context), "io_setup");
     }},
};

}  // namespace

Table kernel_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
