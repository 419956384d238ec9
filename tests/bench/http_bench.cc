// The door alone, without jails: what a request costs that does nothing.
//   http_bench                 requests per second and latencies, over loopback, keep-alive
//   http_bench serve ADDRESS   the fake service, for clients from elsewhere; until a line on stdin
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "tests/http/server_under_test.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRequests = 20'000;

void measure(http_test::Client& client, const char* name, const std::string& method,
             const std::string& target, const std::string& body) {
  std::vector<double> took;
  took.reserve(kRequests);
  const auto start = Clock::now();
  for (int i = 0; i < kRequests; ++i) {
    const auto before = Clock::now();
    if (client.call(method, target, body).status != 200) std::printf("%s failed\n", name);
    took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(took.begin(), took.end());
  std::printf("%-34s %8.0f requests/s   p50 %6.1f us   p99 %6.1f us\n", name, kRequests / seconds,
              took[took.size() / 2], took[took.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "serve") {
    const http_test::ServerUnderTest server({}, argv[2]);
    std::printf("%s\n", server.address().text().c_str());
    std::string line;
    std::getline(std::cin, line);
    return 0;
  }
  const http_test::ServerUnderTest server;
  http_test::Client client = server.client();
  const std::string id = http_test::make_container(client);
  measure(client, "GET /healthz", "GET", "/healthz", "");
  measure(client, "GET /v1/containers/{id}", "GET", "/v1/containers/" + id, "");
  measure(client, "POST /v1/evaluate", "POST", "/v1/evaluate", R"({"expression":"1+1"})");
  measure(client, "POST execute, one document", "POST", "/v1/containers/" + id + "/execute",
          R"({"code":"print 2"})");
  measure(client, "POST execute, streamed", "POST", "/v1/containers/" + id + "/execute",
          R"({"code":"print 2","stream":true})");
  return 0;
}
