// Who may come in, and how many.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "runner/http/routes.h"
#include "tests/http/server_under_test.h"
#include "tests/support/temp_dir.h"

using namespace http_test;

namespace {

constexpr const char* kAlice = "Authorization: Bearer aaaaaaaaaaaaaaaaaaaa\r\n";
constexpr const char* kBob = "Authorization: bearer bbbbbbbbbbbbbbbbbbbb\r\n";

void two_tenants(runner::http::ServerOptions& options) {
  options.tokens =
      *runner::http::Tokens::parse("alice:aaaaaaaaaaaaaaaaaaaa\nbob:bbbbbbbbbbbbbbbbbbbb\n");
}

int get(const ServerUnderTest& server, const std::string& headers,
        const char* target = "/metrics") {
  Client client = server.client();
  client.send("GET " + std::string(target) + " HTTP/1.1\r\n" + headers + "\r\n");
  return client.read_response().status;
}

}  // namespace

TEST_CASE("without a known token nobody gets further than the health check") {
  ServerUnderTest server(two_tenants);
  Client client = server.client();
  const Response response = client.call("GET", "/v1/containers");
  CHECK(response.status == 401);
  CHECK(response.headers.at("www-authenticate") == "Bearer realm=\"sandglass\"");
  CHECK(response.json().at("error").at("type") == "authentication_error");
  const std::string host = "Host: localhost\r\n";
  CHECK(get(server, host + "Authorization: Bearer aaaaaaaaaaaaaaaaaaab\r\n") == 401);
  CHECK(get(server, host + "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaa\r\n") == 401);
  CHECK(get(server, host + "Authorization: Bearer \r\n") == 401);
  CHECK(get(server, host + "Authorization: Basic aaaaaaaaaaaaaaaaaaaa\r\n") == 401);
  CHECK(get(server, host + "Authorization: Bearer alice\r\n") == 401);
  CHECK(get(server, host, "/v1/no-such-path") == 401);
  CHECK(get(server, host + kAlice) == 200);
  CHECK(get(server, host + kBob) == 200);
  CHECK(get(server, host, "/healthz") == 200);
  CHECK(get(server, host, "/openapi.json") == 200);
}

TEST_CASE("tenants do not see each other") {
  ServerUnderTest server(two_tenants);
  Client client = server.client();
  const std::string id = make_container(client, kAlice);
  const std::string target = "/v1/containers/" + id;
  const Response file = client.call("POST", target + "/files?name=a", "abc", kAlice);
  const std::string file_id(file.json().at("id").as_string());
  const std::string typed = std::string("Content-Type: application/json\r\n") + kBob;
  CHECK(client.call("GET", target, "", kAlice).status == 200);
  CHECK(client.call("GET", target, "", kBob).status == 404);
  CHECK(client.call("DELETE", target, "", kBob).status == 404);
  CHECK(client.call("GET", target + "/files", "", kBob).status == 404);
  CHECK(client.call("GET", target + "/files/" + file_id, "", kBob).status == 404);
  CHECK(client.call("GET", target + "/files/" + file_id + "/content", "", kBob).status == 404);
  CHECK(client.call("POST", target + "/files?name=b", "x", kBob).status == 404);
  CHECK(client.call("POST", target + "/execute", R"({"code":""})", typed).status == 404);
  CHECK(client.call("POST", target + "/interrupt", "", kBob).status == 404);
  CHECK(client.call("GET", "/v1/containers", "", kBob).json().at("data").as_array().empty());
  const std::string bobs = make_container(client, kBob);
  CHECK(client
            .call("POST", "/v1/containers/" + bobs + "/files", R"({"file_id":")" + file_id + "\"}",
                  typed)
            .status == 404);
}

// Also of routes that are yet to be thought of.
TEST_CASE("to another tenant, every route answers as to an id that was never given") {
  ServerUnderTest server(two_tenants);
  Client client = server.client();
  const std::string id = make_container(client, kAlice);
  const Response file =
      client.call("POST", "/v1/containers/" + id + "/files?name=a", "abc", kAlice);
  const std::string file_id(file.json().at("id").as_string());
  const std::string unknown = "cntr_" + std::string(32, 'f');
  const auto ask = [&](const runner::http::Route& route, const std::string& container) {
    std::string target(route.path);
    for (const auto& [part, value] :
         {std::pair<std::string, std::string>{"{container_id}", container}, {"{file_id}", file_id}})
      if (const auto at = target.find(part); at != std::string::npos)
        target.replace(at, part.size(), value);
    if (route.action == runner::http::Action::kPutFile) target += "?name=b";
    const std::string body =
        route.action == runner::http::Action::kExecute ? R"({"code":"print 1"})" : "";
    std::string headers = kBob;
    if (!body.empty()) headers += "Content-Type: application/json\r\n";
    return client.call(std::string(route.method), target, body, headers);
  };
  std::size_t asked = 0;
  for (const auto& route : runner::http::routes()) {
    if (route.path.find("{container_id}") == std::string_view::npos) continue;
    INFO(route.method << " " << route.path);
    ++asked;
    const Response other = ask(route, id);
    CHECK(other.status == 404);
    std::string body = other.body;
    while (body.find(id) != std::string::npos) body.replace(body.find(id), id.size(), unknown);
    CHECK(body == ask(route, unknown).body);
  }
  CHECK(asked == 10);
  CHECK(client.call("GET", "/v1/containers/" + id, "", kAlice).status == 200);
  CHECK(client.call("GET", "/v1/containers/" + id + "/files/" + file_id + "/content", "", kAlice)
            .body == "abc");
}

TEST_CASE("on loopback, names that are not this machine's are not served") {
  ServerUnderTest server([](auto& options) { options.allowed_hosts = {"box.example"}; });
  CHECK(get(server, "Host: localhost\r\n") == 200);
  CHECK(get(server, "Host: LOCALHOST:8611\r\n") == 200);
  CHECK(get(server, "Host: 127.0.0.1:1\r\n") == 200);
  CHECK(get(server, "Host: [::1]:80\r\n") == 200);
  CHECK(get(server, "Host: box.example:443\r\n") == 200);
  CHECK(get(server, "Host: evil.example\r\n") == 403);
  CHECK(get(server, "Host: localhost.evil.example\r\n") == 403);
  CHECK(get(server, "Host: localhost:80:80\r\n") == 403);
  CHECK(get(server, "Host: localhost:x\r\n") == 403);
  CHECK(get(server, "Host: 127.0.0.1.nip.io\r\n") == 403);
  CHECK(get(server, "Host: \r\n") == 403);
  CHECK(get(server, "Host: localhost\r\n", "http://evil.example/metrics") == 403);
  CHECK(get(server, "Host: evil.example\r\n", "/healthz") == 403);
}

TEST_CASE("on loopback, pages of other origins are not served") {
  ServerUnderTest server;
  const std::string host = "Host: localhost:8611\r\n";
  CHECK(get(server, host + "Origin: http://localhost:8611\r\n") == 200);
  CHECK(get(server, host + "Origin: http://localhost:3000\r\n") == 403);
  CHECK(get(server, host + "Origin: https://evil.example\r\n") == 403);
  CHECK(get(server, host + "Origin: null\r\n") == 403);
  CHECK(get(server, host + "Origin: \r\n") == 403);
}

TEST_CASE("a unix socket serves its owner only, and is gone at the end") {
  const support::TempDir dir;
  const std::string path = dir / "s";
  {
    ServerUnderTest server({}, "unix:" + path);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    Client client = server.client();
    CHECK(client.call("GET", "/healthz").status == 200);
    CHECK_THROWS_WITH(ServerUnderTest({}, "unix:" + path), Catch::Contains("another server"));
    CHECK(client.call("GET", "/healthz").status == 200);
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("beyond this machine nobody is served without tokens") {
  CHECK_THROWS_WITH(ServerUnderTest({}, "0.0.0.0:0"), Catch::Contains("--token-file"));
  CHECK_THROWS_WITH(ServerUnderTest({}, "[::]:0"), Catch::Contains("--token-file"));
  ServerUnderTest server(two_tenants, "0.0.0.0:0");
  CHECK(get(server, std::string("Host: any.example\r\n") + kAlice) == 200);
  CHECK(get(server, "Host: any.example\r\n") == 401);
}

TEST_CASE("two thousand idle connections keep nobody out") {
  ServerUnderTest server([](auto& options) { options.max_connections = 1000; });
  std::vector<Client> idle;
  idle.reserve(2000);
  for (int i = 0; i < 2000; ++i) idle.push_back(server.client());
  REQUIRE(server.eventually([&] { return server.metrics.connections_accepted == 2000; }));
  CHECK(server.ask<std::uint64_t>([&] { return server.metrics.connections_open; }) == 1000);
  CHECK(server.ask<std::uint64_t>([&] { return server.metrics.connections_evicted; }) == 1000);
  CHECK(server.client().call("GET", "/healthz").status == 200);
  CHECK(idle.back().call("GET", "/healthz").status == 200);  // the youngest are still there
  CHECK(idle.front().read_to_end().empty());
}

TEST_CASE("when all connections are busy, a new one is told so") {
  ServerUnderTest server([](auto& options) { options.max_connections = 2; });
  Client one = server.client();
  Client two = server.client();
  one.send("GET /hea");
  two.send("GET /hea");
  REQUIRE(server.eventually([&] { return server.metrics.connections_open == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Client three = server.client();
  CHECK(three.read_response().status == 503);
  one.send("lthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(one.read_response().status == 200);
}
