// Whose network namespace a jail is in, and when another gets it.
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <set>

#include "jail/wire.h"
#include "tests/support/jail_client.h"
#include "tests/support/require.h"

namespace {

using support::Spawner;

// As long as one is open, no other has its number.
ino_t number(const jail::Fd& space) {
  struct stat st {};
  REQUIRE(::fstat(space.get(), &st) == 0);
  return st.st_ino;
}

ino_t related(const jail::Fd& space, unsigned long relation) {
  const jail::Fd other(::ioctl(space.get(), relation));
  REQUIRE(other.valid());
  return number(other);
}

struct Passed {
  std::string connect;
  jail::Fd network;
  jail::Fd user;
  jail::Fd socket;
};

jail::Spec spec_with(jail::Loopback loopback) {
  jail::Spec spec = support::base_spec();
  spec.proc = jail::ProcView::kOwnPids;
  spec.filter = support::allow_all_but({"ptrace"});
  spec.loopback = loopback;
  return spec;
}

Passed passed_on(Spawner& spawner, const jail::Fd& plan, const std::vector<std::string>& words) {
  static std::uint64_t last_id = 1000;
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
  const jail::Fd ours(pair[0]);
  jail::Fd theirs(pair[1]);
  std::vector<std::string> argv{"passes_on_fds"};
  argv.insert(argv.end(), words.begin(), words.end());
  const auto sealed = jail::make_command(support::payload_command(argv));
  REQUIRE(sealed.has_value());
  const support::Launch launch{++last_id, support::file_with(""), support::file_with("")};
  REQUIRE(jail::send_launch(spawner.socket(), launch.id, plan, *sealed,
                            {theirs, launch.out, launch.err}, {}));
  theirs.reset();
  const support::Run run = spawner.finish(launch);
  REQUIRE_FALSE(run.error.has_value());
  CHECK(run.ended.wait_status == 0);
  char byte = 0;
  jail::Received got;
  REQUIRE(jail::receive_packet(ours.get(), std::as_writable_bytes(std::span(&byte, 1)), got));
  REQUIRE(got.fd_count == 2 + words.size());
  return {support::told(run.out)["connect"], std::move(got.fds[0]), std::move(got.fds[1]),
          words.empty() ? jail::Fd() : std::move(got.fds[2])};
}

}  // namespace

TEST_CASE("nobody in a jail owns its network namespace, but for one with loopback") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  const Passed down = passed_on(spawner, support::plan_of(spec_with(jail::Loopback::kDown)), {});
  CHECK(related(down.network, NS_GET_USERNS) != number(down.user));
  CHECK(related(down.network, NS_GET_USERNS) == related(down.user, NS_GET_PARENT));
  const Passed up = passed_on(spawner, support::plan_of(spec_with(jail::Loopback::kUp)), {});
  CHECK(related(up.network, NS_GET_USERNS) == number(up.user));
}

TEST_CASE("the network namespace of a jail that is dead is used again") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  const jail::Fd plan = support::plan_of(spec_with(jail::Loopback::kDown));
  std::vector<Passed> all;
  std::set<ino_t> networks;
  for (int i = 0; i < 20; ++i) {
    all.push_back(passed_on(spawner, plan, {}));
    networks.insert(number(all.back().network));
  }
  // The end is told of before the jail is buried, so some follow too soon.
  CHECK(networks.size() < 10);
  const Passed with_loopback =
      passed_on(spawner, support::plan_of(spec_with(jail::Loopback::kUp)), {});
  CHECK(networks.count(number(with_loopback.network)) == 0);
}

TEST_CASE("jails at the same time have network namespaces of their own") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(spec_with(jail::Loopback::kDown));
  REQUIRE(jail::send_pool(spawner.socket(), plan, 4).has_value());
  std::vector<Passed> all;
  for (int i = 0; i < 30; ++i) {
    all.push_back(passed_on(spawner, plan, {"socket"}));
    CHECK(all.back().connect == "ECONNREFUSED");
  }
}

TEST_CASE("a network namespace in which a socket lives is not used again") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  const jail::Fd plan = support::plan_of(spec_with(jail::Loopback::kDown));
  const Passed first = passed_on(spawner, plan, {"socket"});
  for (int i = 0; i < 5; ++i) {
    const Passed next = passed_on(spawner, plan, {});
    CHECK(number(next.network) != number(first.network));
    CHECK(next.connect == "ECONNREFUSED");
  }
}
