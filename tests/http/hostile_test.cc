// Clients that mean harm, or know no better.
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/http/server_under_test.h"

using namespace http_test;

namespace {

void hurried(runner::http::ServerOptions& options) {
  options.timeouts.header = jail::Millis{300};
  options.timeouts.body_stall = jail::Millis{300};
  options.timeouts.body = jail::Millis{900};
  options.timeouts.idle = jail::Millis{600};
  options.timeouts.linger = jail::Millis{300};
}

// One request on a connection of its own.
Response once(const ServerUnderTest& server, std::string_view bytes) {
  Client client = server.client();
  client.send(bytes);
  return client.read_response();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("whatever can be read in two ways is refused, and the connection closed") {
  ServerUnderTest server(hurried);
  const std::string post = "POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\n";
  const std::string tail = "\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& headers : {
           std::string("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
           std::string("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
           std::string("Content-Length: 5\r\nContent-Length: 5\r\n"),
           std::string("Content-Length: 5\r\nContent-Length: 6\r\n"),
           std::string("Content-Length: 5, 6\r\n"),
           std::string("Content-Length: +5\r\n"),
           std::string("Content-Length: -1\r\n"),
           std::string("Content-Length: 0x5\r\n"),
           std::string("Content-Length: 99999999999999999999999\r\n"),
           std::string("Content-Length:\r\n"),
           std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
           std::string("Transfer-Encoding: chunked, identity\r\n"),
           std::string("Transfer-Encoding: gzip, chunked\r\n"),
           std::string("Transfer-Encoding: xchunked\r\n"),
           std::string("Transfer-Encoding : chunked\r\n"),
           std::string("Content-Length : 5\r\n"),
           std::string("Host: evil\r\n"),
           std::string("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
           std::string("X: a\nContent-Length: 5\r\n"),
           std::string("X: a\rb\r\n"),
           std::string("X\r\n"),
           std::string(": x\r\n"),
           std::string("X: \0\r\n", 6),
       }) {
    CAPTURE(headers);
    Client client = server.client();
    client.send(post + headers + tail);
    const std::string all = client.read_to_end();
    CHECK(all.starts_with("HTTP/1.1 400 "));
    CHECK(all.find("HTTP/1.1 ", 5) == std::string::npos);  // nothing was smuggled in
  }
}

TEST_CASE("a header that stands twice is refused, and named") {
  ServerUnderTest server(hurried);
  for (const char* header :
       {"Authorization", "Content-Disposition", "Content-Type", "Origin", "X-Filename"}) {
    CAPTURE(header);
    const std::string name = header;
    const std::string line = name + ": http://localhost\r\n";
    const auto twice =
        once(server, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + line + line + "\r\n");
    CHECK(twice.status == 400);
    const auto message = twice.json().at("error").at("message");
    CHECK(std::string(message.as_string()) == "more than one " + name + " header");
    CHECK(once(server, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + line + "\r\n").status ==
          200);
  }
}

TEST_CASE("what is not HTTP/1.1 is refused") {
  ServerUnderTest server(hurried);
  CHECK(once(server, "GET /healthz HTTP/1.1\r\n\r\n").status == 400);
  CHECK(once(server, "GET /healthz HTTP/1.1\nHost: localhost\n\n\r\n\r\n").status >= 400);
  CHECK(once(server, "GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n").status == 505);
  CHECK(once(server, "GET /healthz\r\n\r\n").status >= 400);
  CHECK(once(server, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").status == 400);
  CHECK(once(server, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status >= 400);
  CHECK(once(server, "CONNECT evil:443 HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 400);
  CHECK(once(server, "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 400);
  CHECK(once(server, "GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 400);
  CHECK(once(server, "GET /healthz#x HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 400);
  CHECK(once(server, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").status == 200);
}

TEST_CASE("a header of ten megabytes is cut off at sixteen kilobytes") {
  ServerUnderTest server(hurried);
  Client client = server.client();
  std::string request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
  request += "X: ";
  request.resize(10'000'000, 'a');
  request += "\r\n\r\n";
  client.send(request);
  const Response response = client.read_response();
  CHECK(response.status == 431);
  CHECK(response.message().find("16K") != std::string::npos);
  CHECK(once(server, "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n").status == 431);
}

TEST_CASE("slow headers, slow bodies and idle connections end in bounded time") {
  ServerUnderTest server(hurried);
  const auto start = std::chrono::steady_clock::now();
  Client header = server.client();
  Client body = server.client();
  Client dripping = server.client();
  Client idle = server.client();
  header.send("GET /healthz HTTP/1.1\r\nHo");
  body.send("POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  dripping.send("POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n");
  CHECK(header.read_response().status == 408);
  CHECK(body.read_response().status == 408);
  while (seconds_since(start) < 2 && dripping.try_send("x")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (server.ask<std::uint64_t>([&] { return server.metrics.replies[408]; }) == 3) break;
  }
  CHECK(dripping.read_response().status == 408);  // a byte now and then is not enough
  CHECK(idle.read_to_end().empty());
  CHECK(seconds_since(start) < 3);
}

TEST_CASE("JSON that is none, too deep or too clever") {
  ServerUnderTest server;
  Client client = server.client();
  const auto status = [&](const std::string& body) {
    return client.call("POST", "/v1/evaluate", body).status;
  };
  CHECK(status("{") == 400);
  CHECK(status("[]") == 400);
  CHECK(status("{} {}") == 400);
  CHECK(status("{\"expression\":NaN}") == 400);
  CHECK(status("{\"expression\":\"\\ud800\"}") == 400);
  CHECK(status("{\"expression\":\"\xff\"}") == 400);
  CHECK(status("{\"expression\":\"\xed\xa0\x80\"}") == 400);
  CHECK(status("{\"expression\":\"a\nb\"}") == 400);
  CHECK(status("{\"expression\":'1'}") == 400);
  CHECK(status("{\"expression\":\"1\",}") == 400);
  CHECK(status("{\"expression\":\"1\"/**/}") == 400);
  CHECK(status("\xef\xbb\xbf{\"expression\":\"1\"}") == 400);
  CHECK(status("{\"sources\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}") ==
        400);
  CHECK(status("{\"expression\":1e999999}") == 400);
  CHECK(status("{\"expression\":" + std::string(10'000, '9') + "}") == 400);
  CHECK(status("{\"expression\":\"1\",\"expression\":\"2\"}") == 400);
  CHECK(status("{\"expression\":\"\\u0000\"}") == 200);  // a refused expression is an answer
  CHECK(status("{\"expression\":\"" + std::string(1'000'000, '1') + "\"}") == 200);
  const Response large = client.call("POST", "/v1/evaluate", std::string(1'048'577, ' '));
  CHECK(large.status == 413);
  CHECK(large.message().find("1M") != std::string::npos);
}

TEST_CASE("chunks that overflow, lie or never end their line") {
  ServerUnderTest server(hurried);
  const std::string head =
      "POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  CHECK(once(server, head + "fffffffffffffffff\r\nx").status == 400);
  CHECK(once(server, head + "ffffffffffffffff\r\nx").status == 413);
  CHECK(once(server, head + "zz\r\nx\r\n0\r\n\r\n").status == 400);
  CHECK(once(server, head + "-1\r\nx\r\n0\r\n\r\n").status == 400);
  CHECK(once(server, head + "2\r\n{}x\r\n0\r\n\r\n").status == 400);
  CHECK(once(server, head + "2;" + std::string(40'000, 'e')).status == 400);
  CHECK(once(server, head + "2;a=b\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n").status == 400);
  // Well-formed, with a trailer that must not count as a header.
  CHECK(once(server, head + "12\r\n{\"expression\":\"1\"}\r\n0\r\nHost: evil\r\n\r\n").status ==
        200);
}

TEST_CASE("pipelined requests are answered in order, one by one") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string body = R"({"code":"print one"})";
  std::string all =
      "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  for (int i = 0; i < 500; ++i)
    all += "GET /v1/n" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  all += "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\nGET /healthz HTT";
  client.send(all);
  CHECK(client.read_response().json().at("stdout") == "one\n");
  for (int i = 0; i < 500; ++i) CHECK(client.read_response().status == 404);
  CHECK(client.read_response().status == 200);
  CHECK(client.read_to_end().empty());
}

TEST_CASE("bytes one by one, and a client that closes its side and still reads") {
  ServerUnderTest server;
  Client client = server.client();
  const auto one_by_one = [](Client& to, const std::string& text) {
    for (const char c : text) to.send(std::string(1, c));
    return to.read_response().status;
  };
  CHECK(one_by_one(client, "\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") == 200);
  // A header without a field ends with an empty line too; and no Host is no allowed Host.
  Client other = server.client();
  CHECK(one_by_one(other, "\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n") == 403);
  const std::string body = R"({"code":"print a"})";
  client.send(
      "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  client.half_close();
  CHECK(client.read_response().status == 200);
  CHECK(client.read_to_end().empty());
}

TEST_CASE("clients that vanish at any point leave nothing behind") {
  ServerUnderTest server;
  const std::string body = R"({"code":"flood 1;hang","stream":true})";
  const std::string request =
      "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::size_t cut = 0; cut <= request.size(); cut += 7) {
    Client client = server.client();
    client.send(request.substr(0, cut));
    if (cut % 2 == 0) client.reset();
  }
  CHECK(server.eventually([&] { return server.metrics.connections_open == 0; }));
  CHECK(server.client().call("GET", "/healthz").status == 200);
}

TEST_CASE("bodies being read are bounded in all") {
  ServerUnderTest server([](auto& options) { options.body_memory = jail::Bytes{3U << 20U}; });
  Client setup = server.client();
  const std::string target = "/v1/containers/" + make_container(setup) + "/files?name=a";
  const std::string begun = "POST " + target +
                            " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2097152\r\n\r\n" +
                            std::string(2'000'000, 'x');
  Client first = server.client();
  first.send(begun);
  REQUIRE(server.eventually([&] { return server.metrics.bytes_in >= 2'000'000; }));
  CHECK(once(server, begun).status == 503);
  first.send(std::string(97'152, 'x'));
  CHECK(first.read_response().status == 200);
  CHECK(once(server, begun + std::string(97'152, 'x')).status == 200);  // given back
}
