#include "jail/client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "jail/cgroup.h"
#include "jail/wire.h"

namespace jail {
namespace {

// The largest reply decides the room; one connection, one thread, so one buffer a call is enough.
using Room = std::array<std::byte, sizeof(DeniedPacket)>;

template <class Packet>
const Packet* as(const Room& room, std::size_t size) {
  return size == sizeof(Packet) ? reinterpret_cast<const Packet*>(room.data()) : nullptr;
}

DeniedList to_list(const DeniedPacket& packet) {
  DeniedList list;
  list.id = packet.head.id;
  const std::size_t n = std::min<std::size_t>(packet.count, packet.records.size());
  for (std::size_t i = 0; i < n; ++i) {
    const DeniedRecord& r = packet.records[i];
    Denied d;
    d.number = r.number;
    d.args = r.args;
    d.count = r.count;
    d.text.assign(r.text.data(), std::min<std::size_t>(r.text_length, r.text.size()));
    list.denied.push_back(std::move(d));
  }
  return list;
}

std::optional<Event> decode(const Room& room, Received& got) {
  const auto* head = reinterpret_cast<const ReplyHead*>(room.data());
  if (got.size < sizeof(ReplyHead) || head->magic != kWireMagic) return std::nullopt;
  if (head->type == ReplyType::kHello) {
    if (const auto* p = as<HelloPacket>(room, got.size)) return p->hello;
  } else if (head->type == ReplyType::kLaunched) {
    if (const auto* p = as<LaunchedPacket>(room, got.size)) {
      Launched launched;
      launched.id = head->id;
      if (p->error.step != Step::kNone) launched.error = p->error;
      if (got.fd_count > 0) launched.init = std::move(got.fds[0]);
      if (got.fd_count > 1) launched.workdir = std::move(got.fds[1]);
      if (got.fd_count == 2 + MeterFiles::kCount) {
        auto& files = launched.meter.files;
        for (std::size_t i = 0; i < files.size(); ++i) files[i] = std::move(got.fds[2 + i]);
        launched.meter.slot = p->slot;
        launched.meter.serial = p->serial;
        launched.meter.is_v2 = p->is_v2 != 0;
      }
      return launched;
    }
  } else if (head->type == ReplyType::kEnded) {
    if (const auto* p = as<EndedPacket>(room, got.size)) return p->ended;
  } else if (head->type == ReplyType::kUsage) {
    if (const auto* p = as<EndedPacket>(room, got.size)) return Usage{p->ended};
  } else if (head->type == ReplyType::kPrototypeEnded) {
    if (const auto* p = as<PrototypeEndedPacket>(room, got.size))
      return PrototypeEnded{head->id, p->wait_status};
  } else if (head->type == ReplyType::kDenied) {
    if (const auto* p = as<DeniedPacket>(room, got.size)) return to_list(*p);
  }
  return std::nullopt;
}

Result<void> send_request(const Fd& socket, RequestType type, std::uint64_t id,
                          std::uint32_t number, std::span<const int> fds) {
  Request request;
  request.type = type;
  request.id = id;
  request.number = number;
  return send_struct(socket.get(), request, fds);
}

}  // namespace

Result<void> send_launch(const Fd& socket, std::uint64_t id, const Fd& plan, const Fd& command,
                         Stdio stdio, std::span<const Fd> inputs, Millis kill_after) {
  if (inputs.size() > kMaxInputs) return fail(Step::kProtocol, E2BIG);
  std::array<int, kMaxFds> fds{};
  fds[0] = plan.get();
  fds[1] = command.get();
  fds[2] = stdio.in.get();
  fds[3] = stdio.out.get();
  fds[4] = stdio.err.get();
  for (std::size_t i = 0; i < inputs.size(); ++i) fds[5 + i] = inputs[i].get();
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(kill_after.count(), 0));
  const bool fits = limit <= std::numeric_limits<std::uint32_t>::max();
  return send_request(socket, RequestType::kLaunch, id,
                      fits ? static_cast<std::uint32_t>(limit) : 0,
                      std::span(fds.data(), 5 + inputs.size()));
}

Result<void> send_prototype(const Fd& socket, std::uint32_t id, const Fd& command, Stdio stdio,
                            std::span<const Fd> files) {
  if (files.size() > kMaxInputs) return fail(Step::kProtocol, E2BIG);
  std::array<int, kMaxFds> fds{command.get(), stdio.in.get(), stdio.out.get(), stdio.err.get()};
  for (std::size_t i = 0; i < files.size(); ++i) fds[4 + i] = files[i].get();
  return send_request(socket, RequestType::kPrototype, id, 0,
                      std::span(fds.data(), 4 + files.size()));
}

Result<void> send_drop_prototype(const Fd& socket, std::uint32_t id) {
  return send_request(socket, RequestType::kDropPrototype, id, 0, {});
}

Result<void> send_join(const Fd& socket, std::uint64_t id, std::uint32_t prototype, const Fd& plan,
                       const Fd& control, Stdio stdio, const Fd* command) {
  const std::array<int, 6> fds{plan.get(),      control.get(),   stdio.in.get(),
                               stdio.out.get(), stdio.err.get(), command ? command->get() : -1};
  return send_request(socket, RequestType::kJoin, id, prototype,
                      std::span(fds).first(command != nullptr ? 6 : 5));
}

Result<void> send_arm(const Fd& socket, std::uint64_t id, Millis cpu_time) {
  return send_request(socket, RequestType::kArm, id, static_cast<std::uint32_t>(cpu_time.count()),
                      {});
}

Result<void> send_usage(const Fd& socket, std::uint64_t id) {
  return send_request(socket, RequestType::kUsage, id, 0, {});
}

Result<void> send_close(const Fd& socket, std::uint64_t id) {
  return send_request(socket, RequestType::kClose, id, 0, {});
}

Result<void> send_pool(const Fd& socket, const Fd& plan, std::uint32_t target) {
  const std::array<int, 1> fds{plan.get()};
  return send_request(socket, RequestType::kPool, 0, target, fds);
}

Result<void> send_meters(const Fd& socket, const MeterMemory& memory) {
  const std::array<int, 1> fds{memory.file().get()};
  return send_request(socket, RequestType::kMeters, 0, 0, fds);
}

Result<void> send_interrupt(const Fd& socket, std::uint64_t id) {
  return send_request(socket, RequestType::kInterrupt, id, 0, {});
}

Result<void> send_kill(const Fd& socket, std::uint64_t id) {
  return send_request(socket, RequestType::kKill, id, 0, {});
}

Result<std::optional<Event>> receive(const Fd& socket) {
  alignas(16) Room room;
  Received got;
  const auto received = receive_packet(socket.get(), room, got);
  if (!received) {
    if (received.error().error == EAGAIN) return std::optional<Event>();
    return tl::unexpected(received.error());
  }
  if (got.size == 0) return fail(Step::kProtocol, ECONNRESET);
  std::optional<Event> event = decode(room, got);
  if (!event) return fail(Step::kProtocol, EBADMSG);
  return event;
}

void sweep_after(const Hello& hello) noexcept { remove_cgroups_of(hello.keeper_pid); }

}  // namespace jail
