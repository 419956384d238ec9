// The messages, all fixed structs in one SOCK_SEQPACKET datagram each, fds by SCM_RIGHTS.
//
// caller -> spawner: Request
//   kLaunch         plan, command, stdin, stdout, stderr, inputs...; `number` = ms from its start
//   to
//                   its kill, 0: none
//   kPool           plan; `number` = jails to keep ready
//   kInterrupt      SIGINT to the payload's process group
//   kKill           SIGKILL to all processes of the jail
//   kPrototype      command, stdin, stdout, stderr, files...; `id` is new
//   kDropPrototype  `id`
//   kJoin           plan, control, stdin, stdout, stderr, command if `number`, the prototype, is 0
//   kArm            `number` = ms of CPU time from here
//   kUsage          since kArm
//   kClose          the jail that a payload joined ends
//   kMeters         the memory of meter.h
// spawner -> caller: Hello; Reply kLaunched (pidfd of init, workdir, the files of
//   meter.h if any), kEnded, kPrototypeEnded,
//   kUsage; DeniedPacket
// spawner -> init: InitOrder
//   kGo             id maps are written
//   kStart          command, stdio, inputs...
//   kSignal         `number`
// init -> spawner: InitReport
//   kReady          workdir, seccomp listener if any; for payloads that join: workdir, namespaces,
//                   Landlock ruleset if any
//   kError, kStarted, kExited
//   kSwept          what a joined payload left behind is dead
//
// Each side checks size, magic, type and number of fds; a message that breaks a rule ends the
// connection (caller) or the jail (init). Same build on both sides: a version in Hello, no more.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <span>

#include "jail/client.h"
#include "jail/error.h"
#include "jail/fd.h"

namespace jail {

inline constexpr std::uint32_t kWireMagic = 0x31574e53;  // "SNW1"
inline constexpr std::uint32_t kWireVersion = 2;
inline constexpr std::size_t kMaxFds = kMaxInputs + 8;
inline constexpr std::size_t kMaxDenied = 64;
inline constexpr std::size_t kDeniedText = 120;

enum class RequestType : std::uint32_t {
  kLaunch = 1,
  kPool,
  kInterrupt,
  kKill,
  kPrototype,
  kDropPrototype,
  kJoin,
  kArm,
  kUsage,
  kClose,
  kMeters
};
struct Request {
  std::uint32_t magic = kWireMagic;
  RequestType type{};
  std::uint64_t id = 0;
  std::uint32_t number = 0;
  std::uint32_t unused = 0;
};

enum class ReplyType : std::uint32_t {
  kHello = 1,
  kLaunched,
  kEnded,
  kDenied,
  kPrototypeEnded,
  kUsage
};
struct ReplyHead {
  std::uint32_t magic = kWireMagic;
  ReplyType type{};
  std::uint64_t id = 0;
};

struct HelloPacket {
  ReplyHead head;
  Hello hello;
};

struct LaunchedPacket {
  ReplyHead head;
  SetupError error;
  std::uint32_t slot = 0;
  std::uint32_t is_v2 = 0;
  std::uint64_t serial = 0;
};

struct EndedPacket {
  ReplyHead head;
  Ended ended;
};

struct PrototypeEndedPacket {
  ReplyHead head;
  std::int32_t wait_status = 0;
  std::uint32_t unused = 0;
};

struct DeniedRecord {
  std::int32_t number;
  std::uint32_t text_length;
  std::array<std::uint64_t, 6> args;
  std::uint64_t count;
  std::array<char, kDeniedText> text;
};

struct DeniedPacket {
  ReplyHead head;
  std::uint32_t count;
  std::uint32_t unused;
  std::array<DeniedRecord, kMaxDenied> records;
};

enum class OrderType : std::uint32_t { kGo = 1, kStart, kSignal };
struct InitOrder {
  std::uint32_t magic = kWireMagic;
  OrderType type{};
  std::int32_t number = 0;  // kSignal
  std::uint32_t unused = 0;
};

enum class ReportType : std::uint32_t { kReady = 1, kError, kStarted, kExited, kSwept };
struct InitReport {
  std::uint32_t magic = kWireMagic;
  ReportType type{};
  SetupError error;
  std::int32_t wait_status = 0;  // kExited: of the payload
  std::uint32_t unused = 0;
  std::uint64_t cpu_ms = 0;       // kExited: of everything init has reaped
  std::uint64_t max_rss_kib = 0;  // kExited: of the largest process reaped
};

// What one recvmsg(2) brought.
struct Received {
  std::size_t size = 0;  // 0: the peer has gone
  std::size_t fd_count = 0;
  std::array<Fd, kMaxFds> fds;
};

// MSG_NOSIGNAL; whole or not at all. Error kProtocol with errno (EAGAIN when the peer is slow).
Result<void> send_packet(int socket, std::span<const std::byte> data, std::span<const int> fds);

// EINTR handled. kProtocol/EAGAIN when nothing is there, with kNo or O_NONBLOCK; kProtocol/EMSGSIZE
// on a datagram or fd list over the room given: whatever fds came are closed.
enum class Wait : std::uint8_t { kYes, kNo };
Result<void> receive_packet(int socket, std::span<std::byte> room, Received& out,
                            Wait wait = Wait::kYes);

template <class T>
Result<void> send_struct(int socket, const T& message, std::span<const int> fds = {}) {
  return send_packet(socket, std::as_bytes(std::span(&message, 1)), fds);
}

}  // namespace jail
