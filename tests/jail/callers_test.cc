// Callers that break the protocol: the spawner refuses or ends, and leaves nothing.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "jail/wire.h"
#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

namespace {

using support::base_spec;
using support::Spawner;

struct Setting {
  const support::Leftovers leftovers;
  Spawner spawner;
  jail::Fd plan = support::plan_of(base_spec());
  jail::Fd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
};

void send(Setting& s, const void* data, std::size_t size, std::vector<int> fds = {}) {
  const auto bytes = std::span(static_cast<const std::byte*>(data), size);
  REQUIRE(jail::send_packet(s.spawner.socket().get(), bytes, fds).has_value());
}

void send(Setting& s, jail::Request request, std::vector<int> fds = {}) {
  send(s, &request, sizeof(request), std::move(fds));
}

// With a pool and a payload under way, so that there is something to clean up.
void start_some(Setting& s) {
  REQUIRE(jail::send_pool(s.spawner.socket(), s.plan, 2).has_value());
  const support::Launch launch = s.spawner.start(s.plan, {"waits", "2"});
  REQUIRE(support::is_ready(launch));
  (void)s.spawner.launched(launch.id);
}

void ends_cleanly(Setting& s) {
  const auto status = s.spawner.wait(std::chrono::seconds(5));
  REQUIRE(status.has_value());
  CHECK(WIFEXITED(*status));
  CHECK(s.leftovers.found(std::chrono::seconds(2)) == "");
}

void still_works(Setting& s) {
  const support::Run run = s.spawner.finish(s.spawner.start(s.plan, {"exits_with", "6"}));
  CHECK(WEXITSTATUS(run.ended.wait_status) == 6);
}

jail::Request request(jail::RequestType type) {
  jail::Request r;
  r.type = type;
  r.id = 90;
  return r;
}

}  // namespace

TEST_CASE("datagrams that are no requests end the spawner") {
  support::require(support::Feature::kUserNamespaces);
  const std::size_t size =
      GENERATE(std::size_t{0}, std::size_t{1}, sizeof(jail::Request) - 1, sizeof(jail::Request),
               sizeof(jail::Request) + 1, std::size_t{4096}, std::size_t{100000});
  INFO(size);
  Setting s;
  start_some(s);
  const std::vector<char> garbage(size + 1, 'g');
  send(s, garbage.data(), size);
  ends_cleanly(s);
}

TEST_CASE("a request that is short or long by its right beginning ends the spawner") {
  support::require(support::Feature::kUserNamespaces);
  Setting s;
  start_some(s);
  struct {
    jail::Request request;
    char more[100];
  } longer{request(jail::RequestType::kKill), {}};
  send(s, &longer, sizeof(longer));
  ends_cleanly(s);
}

TEST_CASE("a launch with too few descriptors is refused, and nothing else happens") {
  support::require(support::Feature::kUserNamespaces);
  Setting s;
  for (std::size_t n = 0; n < 5; ++n) {
    std::vector<int> fds(n, s.null.get());
    send(s, request(jail::RequestType::kLaunch), fds);
    auto event = s.spawner.next(std::chrono::seconds(5));
    REQUIRE(event.has_value());
    const auto* launched = std::get_if<jail::Launched>(&*event);
    REQUIRE(launched != nullptr);
    CHECK(launched->id == 90);
    CHECK(launched->error == jail::SetupError{jail::Step::kProtocol, 0, EBADMSG});
  }
  still_works(s);
}

TEST_CASE("descriptors that are not wanted are closed") {
  support::require(support::Feature::kUserNamespaces);
  Setting s;
  const auto open_in_worker = [&] { return support::count_fds(s.spawner.hello().worker_pid); };
  still_works(s);
  const std::size_t before = open_in_worker();
  for (int round = 0; round < 20; ++round) {
    const std::vector<int> fds(20, s.null.get());
    for (const auto type : {jail::RequestType::kPool, jail::RequestType::kInterrupt,
                            jail::RequestType::kKill, static_cast<jail::RequestType>(77)})
      send(s, request(type), fds);
    send(s, request(jail::RequestType::kLaunch), fds);
    auto event = s.spawner.next(std::chrono::seconds(5));
    REQUIRE(event.has_value());
    CHECK(std::get<jail::Launched>(*event).error == jail::SetupError{jail::Step::kPlan, 0, EINVAL});
  }
  still_works(s);
  CHECK(support::eventually([&] { return open_in_worker() <= before; }));
}

TEST_CASE("more descriptors than a message may carry end the spawner") {
  support::require(support::Feature::kUserNamespaces);
  Setting s;
  start_some(s);
  const std::vector<int> fds(240, s.null.get());
  alignas(cmsghdr) char control[CMSG_SPACE(240 * sizeof(int))] = {};
  jail::Request r = request(jail::RequestType::kLaunch);
  iovec iov{&r, sizeof(r)};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(240 * sizeof(int));
  std::memcpy(CMSG_DATA(c), fds.data(), 240 * sizeof(int));
  REQUIRE(::sendmsg(s.spawner.socket().get(), &message, MSG_NOSIGNAL) == sizeof(r));
  ends_cleanly(s);
}

TEST_CASE("a caller that hangs up at any moment leaves nothing") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  const support::Leftovers leftovers;
  for (int delay = 0; delay < 12; ++delay) {
    Spawner spawner(backend);
    const jail::Fd plan = support::plan_of(base_spec());
    REQUIRE(jail::send_pool(spawner.socket(), plan, 3).has_value());
    for (int i = 0; i < 3; ++i) (void)spawner.start(plan, {"waits", "2"});
    ::usleep(static_cast<useconds_t>(delay * 1000));
    CHECK(spawner.stop() == 0);
  }
  CHECK(leftovers.found(std::chrono::seconds(2)) == "");
}

TEST_CASE("a launch that is killed at once has an end, not an error") {
  support::require(support::Feature::kUserNamespaces);
  Setting s;
  for (const std::uint32_t pool : {0U, 2U}) {
    INFO("pool " << pool);
    REQUIRE(jail::send_pool(s.spawner.socket(), s.plan, pool).has_value());
    for (int delay = 0; delay < 20; ++delay) {
      const support::Launch launch = s.spawner.start(s.plan, {"waits"});
      ::usleep(static_cast<useconds_t>(delay * 150));
      REQUIRE(jail::send_kill(s.spawner.socket(), launch.id).has_value());
      const support::Run run = s.spawner.finish(launch);
      CHECK_FALSE(run.error.has_value());
      CHECK(run.ended.cause == jail::KillCause::kRequested);
      CHECK_FALSE(run.ended.exited);
    }
  }
  still_works(s);
}

TEST_CASE("the same id twice is the caller's own confusion and nobody's harm") {
  support::require(support::Feature::kUserNamespaces);
  Setting s;
  const auto command = jail::make_command(support::payload_command({"exits_with", "1"}));
  const jail::Stdio stdio{s.null, s.null, s.null};
  for (int i = 0; i < 2; ++i)
    REQUIRE(jail::send_launch(s.spawner.socket(), 90, s.plan, *command, stdio, {}).has_value());
  int ends = 0;
  while (ends < 2) {
    auto event = s.spawner.next(std::chrono::seconds(10));
    REQUIRE(event.has_value());
    if (std::get_if<jail::Ended>(&*event) != nullptr) ++ends;
  }
  still_works(s);
}
