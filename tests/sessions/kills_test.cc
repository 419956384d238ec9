// A hundred random kills of everything below the server, and of the server, under light load; as
// many as SANDGLASS_KILLS says, for a longer run:
//   SANDGLASS_KILLS=200 SANDGLASS_KILLS_SEED=7 build/test/bin/sessions_kills
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/sessions/served.h"
#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"

using namespace sessions_test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kKills = 100;  // fewer where the machine is busy
constexpr auto kAtMost = 60s;

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoi(text);
}

// Code that runs while somebody dies: false if its client was left without an end.
bool told_its_end(Client& client, bool server_died) {
  const std::string rest = client.read_to_end();
  return server_died || contains(rest, "\"type\":\"end_of_execution\"");
}

void works(Served& served) {
  const auto end = Clock::now() + 10s;
  for (;;) {
    Client client = served.client();
    const std::string id = make(client);
    const Response sum = post(client, "/v1/containers/" + id + "/execute", {{"code", "20 + 22"}});
    if (sum.status == 200 && contains(sum.body, "\"text\":\"42\"")) {
      CHECK(client.call("DELETE", "/v1/containers/" + id).status == 200);
      return;
    }
    INFO(sum.body);
    REQUIRE(Clock::now() < end);
  }
}

}  // namespace

TEST_CASE("random kills under load: every client gets an end, and the next request works") {
  require_jails();
  const support::Leftovers leftovers;
  const auto seed = static_cast<unsigned>(number_in("SANDGLASS_KILLS_SEED", 1));
  const int wanted = number_in("SANDGLASS_KILLS", kKills);
  const auto at_most = wanted > kKills ? kAtMost * wanted / 10 : kAtMost;
  INFO("SANDGLASS_KILLS_SEED=" << seed);
  std::mt19937 random(seed);
  const auto start = Clock::now();
  auto served = std::make_unique<Served>();
  int kills = 0;
  int servers = 0;
  for (; kills < wanted && Clock::now() - start < at_most; ++kills) {
    Client client = served->client();
    const std::string id = make(client);
    send_execute(
        client, id,
        {{"code", "print('go', flush=True)\nimport time\ntime.sleep(0.05)"}, {"stream", true}});
    if (kills % 2 == 0) client.read_until("go");
    client.half_close();
    std::vector<pid_t> all = served->below();
    const bool server = random() % 20 == 0 || all.empty();
    const pid_t victim = server ? served->pid() : all[random() % all.size()];
    ::kill(victim, SIGKILL);
    INFO("kill " << kills << (server ? " of the server" : ""));
    CHECK(told_its_end(client, server));
    if (server) {
      ++servers;
      CHECK(served->child().finish().code == -SIGKILL);
      served = std::make_unique<Served>();
    }
    works(*served);
  }
  WARN(kills << " kills, " << servers << " of the server, in "
             << std::chrono::duration<double>(Clock::now() - start).count() << " s");
  CHECK(kills >= (wanted > kKills ? wanted : 30));
  served->child().signal(SIGTERM);
  CHECK(served->child().finish().code == 0);
  CHECK(leftovers.found() == "");
}
