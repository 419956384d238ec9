// Executions told as they happen: their form, slow clients, clients that go, and a server that
// ends.
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/http/server_under_test.h"

using namespace http_test;

namespace {

namespace json = boost::json;

std::string execute(const std::string& code, const std::string& more,
                    const std::string& headers = "") {
  const std::string body = "{\"code\":\"" + code + "\"" + more + "}";
  return "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::vector<json::value> events_of(const std::string& lines) {
  std::vector<json::value> events;
  std::size_t from = 0;
  while (from < lines.size()) {
    const std::size_t end = lines.find('\n', from);
    events.push_back(json::parse(lines.substr(from, end - from)));
    from = end + 1;
  }
  return events;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("lines, each as the description says, and the outcome before the end") {
  ServerUnderTest server;
  Client client = server.client();
  client.send(execute("print a;err b;result;raise KeyError", ",\"stream\":true"));
  const Response response = client.read_response();
  CHECK(response.headers.at("content-type") == "application/x-ndjson");
  std::string types;
  std::int64_t seq = 0;
  for (const json::value& event : events_of(response.body)) {
    CHECK(mismatch(event, "Event").empty());
    CHECK(event.at("seq") == seq++);
    types += std::string(event.at("type").as_string()) + " ";
  }
  CHECK(types == "number_of_executions stdout stderr result error outcome end_of_execution ");
  for (const char c : response.body) CHECK(((c >= 0x20 && c < 0x7f) || c == '\n'));
  CHECK(client.call("GET", "/healthz").status == 200);
}

TEST_CASE("server-sent events when Accept asks for them, lines when it asks for lines") {
  ServerUnderTest server;
  Client client = server.client();
  client.send(execute("print a", "", "Accept: text/event-stream\r\n"));
  const Response events = client.read_response();
  CHECK(events.headers.at("content-type") == "text/event-stream");
  CHECK(events.body.find(
            "\n\nevent: stdout\ndata: {\"type\":\"stdout\",\"seq\":1,\"text\":\"a\\n\"") !=
        std::string::npos);
  CHECK(events.body.ends_with("}\n\n"));
  client.send(execute("print a", "", "Accept: application/x-ndjson\r\n"));
  CHECK(client.read_response().headers.at("content-type") == "application/x-ndjson");
  client.send(execute("print a", ",\"stream\":false", "Accept: application/x-ndjson\r\n"));
  CHECK(client.read_response().headers.at("content-type") == "application/json");
  client.send(execute("print a", "", "Accept: */*\r\n"));
  CHECK(client.read_response().headers.at("content-type") == "application/json");
}

TEST_CASE("a character split over two writes is not broken, one that never ends is shown") {
  ServerUnderTest server;
  Client client = server.client();
  client.send(execute("bytes e2;bytes 82;bytes ac;bytes ff;bytes f09f", ",\"stream\":true"));
  std::string text;
  for (const json::value& event : events_of(client.read_response().body)) {
    if (event.at("type") == "stdout") text += event.at("text").as_string();
  }
  CHECK(text == "\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("to HTTP/1.0 a stream ends with the connection") {
  ServerUnderTest server;
  Client client = server.client();
  std::string request = execute("print a", ",\"stream\":true");
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  client.send(request);
  const std::string all = client.read_to_end();
  CHECK(all.find("chunked") == std::string::npos);
  CHECK(all.find("\r\n\r\n{\"type\":\"number_of_executions\"") != std::string::npos);
  CHECK(all.find("end_of_execution") != std::string::npos);
}

TEST_CASE("a silent execution is kept alive") {
  ServerUnderTest server([](auto& options) { options.timeouts.keep_alive = jail::Millis{50}; });
  Client client = server.client();
  client.send(execute("print a;hang", ",\"stream\":true"));
  client.read_until("\"stdout\"");
  for (int i = 0; i < 3; ++i) {
    CHECK(client.read_until("}\n\r\n").ends_with(i == 0 ? "}\n\r\n"
                                                        : "{\"type\":\"keepalive\"}\n\r\n"));
  }
}

TEST_CASE("a slow reader makes the execution wait, in bounded memory, and loses nothing") {
  ServerUnderTest server([](auto& options) { options.stream_queue = jail::kib(256); });
  Client client = server.client();
  client.send(execute("flood 64", ",\"stream\":true"));
  client.read_until("number_of_executions");
  std::uint64_t before = 0;
  // Until it stands still.
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto now = server.ask<std::uint64_t>([&] { return server.service.produced; });
    if (now == before && now > 0) break;
    before = now;
  }
  // What the kernel's two buffers hold, and a queue of 256 KiB and one event.
  CHECK(before < (16U << 20U));
  CHECK(server.ask<std::uint64_t>([&] { return server.service.finished; }) == 0);
  std::size_t xs = 0;
  std::string tail;
  while (tail.find("end_of_execution") == std::string::npos) {
    const std::string some = client.read_some(1U << 20U);
    REQUIRE_FALSE(some.empty());
    xs += static_cast<std::size_t>(std::count(some.begin(), some.end(), 'x'));
    tail =
        (tail + some).substr(tail.size() + some.size() > 200 ? tail.size() + some.size() - 200 : 0);
  }
  CHECK(xs >= (64U << 20U));
}

TEST_CASE("a reader that is too slow for ever is cut, and the execution goes on") {
  ServerUnderTest server([](auto& options) {
    options.stream_queue = jail::kib(256);
    options.timeouts.write_stall = jail::Millis{300};
  });
  Client client = server.client();
  client.shrink_receive_buffer();
  client.send(execute("flood 32", ",\"stream\":true"));
  CHECK(server.eventually([&] { return server.metrics.streams_cut == 1; }));
  CHECK(server.eventually([&] { return server.service.finished == 1; }));
  CHECK(server.ask<std::uint64_t>([&] { return server.service.interrupts; }) == 0);
}

TEST_CASE("a client that goes: the execution goes on, or is interrupted if asked for") {
  ServerUnderTest server([](auto& options) { options.timeouts.keep_alive = jail::Millis{50}; });
  for (const char* stream : {",\"stream\":true", ",\"stream\":false"}) {
    CAPTURE(stream);
    const auto interrupts = [&] {
      return server.ask<std::uint64_t>([&] { return server.service.interrupts; });
    };
    const auto before = interrupts();
    {
      Client stays = server.client();
      stays.send(execute("print a;hang", stream));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(interrupts() == before);
    {
      Client goes = server.client();
      goes.send(execute("print a;hang", std::string(stream) + ",\"on_disconnect\":\"interrupt\""));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK(server.eventually([&] { return server.service.interrupts == before + 1; }));
  }
}

TEST_CASE("a shutdown is told to every stream, and does not wait for the silent") {
  const auto start = std::chrono::steady_clock::now();
  ServerUnderTest server([](auto& options) { options.timeouts.shutdown = jail::Millis{1000}; });
  Client stream = server.client();
  Client document = server.client();
  Client idle = server.client();
  Client stuck = server.client();
  stream.send(execute("print a;hang", ",\"stream\":true"));
  document.send(execute("print a;hang", ""));
  stuck.send("POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{");
  stream.read_until("\"stdout\"");
  REQUIRE(server.eventually(
      [&] { return server.metrics.connections_open == 4 && server.service.hanging == 2; }));
  std::thread stopping([&] { server.stop(); });
  const std::string last = stream.read_to_end();
  CHECK(last.find("\"name\":\"ServerShutdown\"") != std::string::npos);
  CHECK(last.find("\"outcome\":\"killed\"") < last.find("end_of_execution"));
  CHECK(last.ends_with("0\r\n\r\n"));
  const Response killed = document.read_response();
  CHECK(killed.status == 200);
  CHECK(mismatch(killed.json(), "Execution").empty());
  CHECK(killed.json().at("outcome") == "killed");
  CHECK(killed.json().at("stdout") == "a\n");
  CHECK(killed.json().at("text") == "the server is shutting down");
  CHECK(idle.read_to_end().empty());
  stream.half_close();
  document.half_close();
  stopping.join();
  CHECK(seconds_since(start) < 5);
}
