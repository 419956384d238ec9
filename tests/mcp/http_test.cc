// The path /mcp: headers, sessions, streams, tenants. Over real sockets, without jails.
#include <catch2/catch.hpp>

#include "runner/http/mcp_door.h"
#include "tests/http/server_under_test.h"
#include "tests/mcp/conversation.h"

using http_test::Client;
using http_test::Response;
using http_test::ServerUnderTest;
using mcp_test::stateless;
using mcp_test::string_of;

namespace json = boost::json;

namespace {

const std::string kJson = "Content-Type: application/json\r\n";
const std::string kBoth = kJson + "Accept: application/json, text/event-stream\r\n";
const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
const std::string kList = R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})";
constexpr const char* kAlice = "Authorization: Bearer aaaaaaaaaaaaaaaaaaaa\r\n";
constexpr const char* kBob = "Authorization: Bearer bbbbbbbbbbbbbbbbbbbb\r\n";

void quick(runner::http::ServerOptions& options) { options.mcp.progress_every = jail::Millis{5}; }

std::string session(Client& client, const std::string& headers = kBoth) {
  const Response begun = client.call("POST", "/mcp", kInitialize, headers);
  REQUIRE(begun.status == 200);
  return begun.headers.at("mcp-session-id");
}

std::string with(const std::string& id) {
  return kBoth + "MCP-Session-Id: " + id + "\r\nMCP-Protocol-Version: 2025-11-25\r\n";
}

// The headers that 2026-07-28 wants.
std::string says(const std::string& method, const std::string& name = "") {
  return kBoth + "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n" +
         (name.empty() ? "" : "Mcp-Name: " + name + "\r\n");
}

std::string execute(int id, const std::string& code, const std::string& more = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":")" + code +
         "\"}" + more + "}}";
}

int code_of(const Response& response) {
  return static_cast<int>(response.json().at("error").at("code").as_int64());
}

void post(Client& client, const std::string& body, const std::string& headers) {
  client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + headers +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

}  // namespace

TEST_CASE("mcp: from initialize to the end of the session") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = session(client);
  CHECK(id.size() == 36);
  CHECK(id.starts_with("mcp_"));
  CHECK(session(client) != id);

  const Response ready = client.call(
      "POST", "/mcp", R"({"jsonrpc":"2.0","method":"notifications/initialized"})", with(id));
  CHECK(ready.status == 202);
  CHECK(ready.body.empty());
  CHECK_FALSE(ready.headers.contains("content-type"));
  CHECK(client.call("POST", "/mcp", R"({"jsonrpc":"2.0","id":3,"result":{}})", with(id)).status ==
        202);

  const Response list = client.call("POST", "/mcp", kList, with(id));
  CHECK(list.status == 200);
  CHECK(list.headers.at("content-type") == "application/json");
  CHECK(list.json().at("result").at("tools").as_array().size() == 6);
  const Response done = client.call("POST", "/mcp", execute(4, "print a"), with(id));
  CHECK(done.json().at("result").at("structuredContent").at("stdout") == "a\n");

  CHECK(client.call("GET", "/mcp", "", with(id)).status == 405);
  CHECK(client.call("GET", "/mcp", "", with(id)).headers.at("allow") == "POST, DELETE, OPTIONS");
  CHECK(client.call("DELETE", "/mcp", "", with(id)).status == 204);
  CHECK(client.call("DELETE", "/mcp", "", with(id)).status == 404);
  CHECK(client.call("POST", "/mcp", kList, with(id)).status == 404);
  CHECK(client.call("DELETE", "/mcp", "", kBoth).status == 400);
}

TEST_CASE("mcp: what is refused before it is read, and what is no message") {
  ServerUnderTest server;
  Client client = server.client();
  CHECK(client.call("POST", "/mcp", kList, kBoth).status == 400);  // no session
  CHECK(client.call("POST", "/mcp", kInitialize, "Content-Type: text/plain\r\n").status == 415);
  const Response foreign =
      client.call("POST", "/mcp", kInitialize, kBoth + "Origin: http://evil.example\r\n");
  CHECK(foreign.status == 403);
  Client other = server.client();
  other.send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n");
  CHECK(other.read_response().status == 403);

  Client third = server.client();
  const Response broken = third.call("POST", "/mcp", "{\"jsonrpc\"", kBoth);
  CHECK(broken.status == 400);
  CHECK(code_of(broken) == -32700);
  const Response batch = third.call("POST", "/mcp", "[" + kList + "]", kBoth);
  CHECK(batch.status == 400);
  CHECK(code_of(batch) == -32600);
  const std::string id = session(third);
  const Response odd =
      third.call("POST", "/mcp", kList,
                 kBoth + "MCP-Session-Id: " + id + "\r\nMCP-Protocol-Version: 1999-01-01\r\n");
  CHECK(odd.status == 400);
  CHECK(code_of(odd) == -32022);
  // A header that says what the body does not.
  const Response unsaid = third.call("POST", "/mcp", kList, says("tools/list"));
  CHECK(unsaid.status == 400);
  CHECK(code_of(unsaid) == -32602);
  CHECK(third.call("POST", "/mcp", kList, with(id)).status == 200);
}

TEST_CASE("mcp: a tenant's session is not another's") {
  ServerUnderTest server([](runner::http::ServerOptions& options) {
    options.tokens =
        *runner::http::Tokens::parse("alice:aaaaaaaaaaaaaaaaaaaa\nbob:bbbbbbbbbbbbbbbbbbbb\n");
  });
  CHECK(server.client().call("POST", "/mcp", kInitialize, kBoth).status == 401);
  Client client = server.client();
  const std::string id = session(client, kBoth + kAlice);
  CHECK(client.call("POST", "/mcp", kList, with(id) + kBob).status == 404);
  CHECK(client.call("DELETE", "/mcp", "", with(id) + kBob).status == 404);
  CHECK(client.call("POST", "/mcp", kList, with(id) + kAlice).status == 200);

  const Response made = client.call("POST", "/mcp", execute(4, "end"), with(id) + kAlice);
  const std::string box =
      string_of(made.json().at("result").at("structuredContent").at("session_id"));
  const std::string bobs = session(client, kBoth + kBob);
  const std::string use =
      R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_files",)"
      R"("arguments":{"session_id":")" +
      box + "\"}}}";
  const Response foreign = client.call("POST", "/mcp", use, with(bobs) + kBob);
  CHECK(foreign.json().at("result").at("_meta").at("sandglass/refusal").at("kind") == "not_found");
  const Response own = client.call("POST", "/mcp", use, with(id) + kAlice);
  CHECK(own.json().at("result").at("isError") == false);
}

TEST_CASE("mcp: progress and the answer come on one stream") {
  ServerUnderTest server(quick);
  Client client = server.client();
  const std::string id = session(client);
  post(client, execute(5, "print a;hang", R"(,"_meta":{"progressToken":7})"), with(id));
  const std::string head = client.read_until("\r\n\r\n");
  CHECK(head.find("HTTP/1.1 200") == 0);
  CHECK(head.find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(head.find("X-Accel-Buffering: no\r\n") != std::string::npos);
  const std::string first = client.read_until("\n\n");
  const json::value note = json::parse(first.substr(first.find("data: ") + 6));
  CHECK(note.at("params").at("progressToken") == 7);

  // It goes on until another request says that it is cancelled; then the stream ends without a
  // word.
  Client second = server.client();
  const std::string cancel =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})";
  const std::string foreign = session(second);
  CHECK(second.call("POST", "/mcp", cancel, with(foreign)).status == 202);
  CHECK(server.ask<std::uint64_t>([&] { return server.service.interrupts; }) == 0);
  CHECK(second.call("POST", "/mcp", cancel, with(id)).status == 202);
  const std::string rest = client.read_until("0\r\n\r\n");
  CHECK(rest.find("\"result\"") == std::string::npos);
  CHECK(rest.find("\"error\"") == std::string::npos);
  CHECK(server.ask<std::uint64_t>([&] { return server.service.interrupts; }) == 1);
  CHECK(client.call("POST", "/mcp", kList, with(id)).status == 200);  // still in step
}

TEST_CASE("mcp: to a client that reads no streams everything is one document") {
  ServerUnderTest server(quick);
  Client client = server.client();
  const std::string id = session(client);
  const std::string headers = kJson + "Accept: application/json\r\nMCP-Session-Id: " + id + "\r\n";
  post(client, execute(5, "hang", R"(,"_meta":{"progressToken":7})"), headers);
  CHECK(server.eventually([&] { return server.service.list("", {}, "")->data.size() == 1; }));
  Client second = server.client();
  second.call("POST", "/mcp",
              R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})",
              headers);
  const Response cancelled = client.read_response("POST");
  CHECK(cancelled.status == 200);
  CHECK(code_of(cancelled) == -32800);
}

TEST_CASE("mcp: going is cancelling from 2026-07-28 on, and not before") {
  ServerUnderTest server(quick);
  {
    Client old = server.client();
    const std::string id = session(old);
    post(old, execute(5, "hang"), with(id));
    CHECK(server.eventually([&] { return server.service.list("", {}, "")->data.size() == 1; }));
    old.reset();
  }
  Client modern = server.client();
  post(modern, stateless(6, "tools/call", R"(,"name":"execute_code","arguments":{"code":"hang"})"),
       says("tools/call", "execute_code"));
  CHECK(server.eventually([&] { return server.service.list("", {}, "")->data.size() == 2; }));
  CHECK(server.ask<std::uint64_t>([&] { return server.service.interrupts; }) == 0);
  modern.reset();
  CHECK(server.eventually([&] { return server.service.interrupts == 1; }));
  // The session that the call itself had made went with it; the older client's is still there.
  CHECK(server.eventually([&] { return server.service.list("", {}, "")->data.size() == 1; }));
}

TEST_CASE("mcp: 2026-07-28 over HTTP, and the headers that repeat the body") {
  ServerUnderTest server;
  Client client = server.client();
  const Response found =
      client.call("POST", "/mcp", stateless(1, "server/discover"), says("server/discover"));
  CHECK(found.status == 200);
  CHECK_FALSE(found.headers.contains("mcp-session-id"));
  CHECK(found.json().at("result").at("supportedVersions").at(0) == "2026-07-28");

  const std::string call =
      stateless(2, "tools/call", R"(,"name":"execute_code","arguments":{"code":"print a"})");
  CHECK(client.call("POST", "/mcp", call, says("tools/call", "execute_code")).status == 200);
  CHECK(
      client.call("POST", "/mcp", call, says("tools/call", "=?base64?ZXhlY3V0ZV9jb2Rl?=")).status ==
      200);
  const auto refused = [&](const std::string& body, const std::string& headers, int code) {
    const Response response = client.call("POST", "/mcp", body, headers);
    CHECK(response.status == 400);
    CHECK(code_of(response) == code);
    CHECK(response.json().at("id").is_int64());
  };
  refused(call, says("tools/call", "read_file"), -32020);
  refused(call, says("tools/call"), -32020);
  refused(call, says("tools/list", "execute_code"), -32020);
  refused(call, kBoth + "Mcp-Method: tools/call\r\nMcp-Name: execute_code\r\n", -32020);
  refused(call, with("mcp_0"), -32020);  // says 2025-11-25
  refused(call, says("tools/call", "execute_code") + "Mcp-Name: execute_code\r\n", -32020);
  std::string newer = stateless(3, "tools/list");
  newer.replace(newer.find("2026-07-28"), 10, "2027-01-01");
  refused(newer, kBoth + "MCP-Protocol-Version: 2027-01-01\r\nMcp-Method: tools/list\r\n", -32022);

  const Response missing = client.call("POST", "/mcp", stateless(4, "ping"), says("ping"));
  CHECK(missing.status == 404);
  CHECK(code_of(missing) == -32601);
  const std::string note =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})";
  CHECK(client.call("POST", "/mcp", note, says("notifications/cancelled")).status == 202);
}

TEST_CASE("mcp: sessions of clients that never say goodbye make room") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string first = session(client);
  const std::string second = session(client);
  CHECK(client.call("POST", "/mcp", kList, with(first)).status == 200);
  for (std::size_t i = 0; i < runner::http::McpDoor::kMostPeers - 1; ++i) session(client);
  CHECK(client.call("POST", "/mcp", kList, with(first)).status == 200);
  CHECK(client.call("POST", "/mcp", kList, with(second)).status == 404);
}

TEST_CASE("mcp: a server that stops says so") {
  ServerUnderTest server(quick);
  Client client = server.client();
  const std::string id = session(client);
  post(client, execute(5, "hang", R"(,"_meta":{"progressToken":7})"), with(id));
  client.read_until("progressToken");
  server.stop();
  const std::string rest = client.read_to_end();
  CHECK(rest.find(R"("id":5,"error":{"code":-32603,"message":"the server is shutting down"}})") !=
        std::string::npos);
}
