// Every route and every error, held against the API's description.
#include "runner/http/routes.h"

#include <catch2/catch.hpp>
#include <set>

#include "runner/wire/openapi.h"
#include "tests/http/server_under_test.h"

using namespace http_test;

namespace json = boost::json;

TEST_CASE("the description lists exactly the routes there are") {
  std::set<std::string> described;
  const json::value document = json::parse(runner::wire::openapi_json());
  CHECK(document.at("openapi") == "3.1.0");
  for (const auto& path : document.at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      std::string method(operation.key());
      std::transform(method.begin(), method.end(), method.begin(),
                     [](char c) { return static_cast<char>(std::toupper(c)); });
      described.insert(method + " " + std::string(path.key()));
    }
  }
  std::set<std::string> served;
  for (const auto& route : runner::http::routes()) {
    served.insert(std::string(route.method) + " " + std::string(route.path));
  }
  CHECK(described == served);
}

TEST_CASE("containers: made, found, listed, ended") {
  ServerUnderTest server;
  Client client = server.client();
  const Response made = client.call(
      "POST", "/v1/containers",
      R"({"name":"a","memory_limit":"4g","expires_after":{"anchor":"last_active_at","minutes":5},)"
      R"("policy":"tight","network_policy":{"type":"disabled"},"skills":[]})");
  REQUIRE(made.status == 200);
  CHECK(mismatch(made.json(), "Container").empty());
  CHECK(made.json().at("memory_limit") == "4g");
  CHECK(made.json().at("expires_after").at("minutes") == 5);
  const std::string id(made.json().at("id").as_string());
  CHECK(client.call("GET", "/v1/containers/" + id).body == made.body);

  for (int i = 0; i < 3; ++i) make_container(client);
  const Response page = client.call("GET", "/v1/containers?limit=2&order=asc&after=" + id);
  CHECK(mismatch(page.json(), "ContainerList").empty());
  CHECK(page.json().at("data").as_array().size() == 2);
  CHECK(page.json().at("has_more") == true);
  CHECK(client.call("GET", "/v1/containers?name=a").json().at("data").as_array().size() == 1);
  const Response none = client.call("GET", "/v1/containers?name=zzz");
  CHECK(none.json().at("first_id").is_null());

  const Response gone = client.call("DELETE", "/v1/containers/" + id);
  CHECK(gone.body == R"({"id":")" + id + R"(","object":"container.deleted","deleted":true})");
  CHECK(mismatch(gone.json(), "Deleted").empty());
  CHECK(client.call("GET", "/v1/containers/" + id).status == 404);
}

TEST_CASE("an expired container says so in OpenAI's words, and an unknown one is not found") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  server.on_loop([&] { server.service.expire(id); });
  const Response expired = client.call("GET", "/v1/containers/" + id);
  CHECK(expired.status == 400);
  CHECK(expired.body == R"({"error":{"message":"Container is expired.",)"
                        R"("type":"invalid_request_error","param":null,"code":null}})");
  CHECK(client.call("GET", "/v1/containers").body.find("\"expired\"") != std::string::npos);
  const Response unknown = client.call("POST", "/v1/containers/cntr_x/execute", R"({"code":""})");
  CHECK(unknown.status == 404);
  CHECK(mismatch(unknown.json(), "Error").empty());
}

TEST_CASE("a trace that is not kept, and a form of it that does not exist") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string target = "/v1/containers/" + make_container(client) + "/trace";
  const Response none = client.call("GET", target);
  CHECK(none.status == 404);
  CHECK(none.json().at("error").at("message") == "this server keeps no trace");
  for (const char* query : {"?format=pdf", "?form=md", "?format="}) {
    const Response wrong = client.call("GET", target + query);
    CHECK(wrong.status == 400);
    CHECK(mismatch(wrong.json(), "Error").empty());
  }
}

TEST_CASE("a full house says when to come again") {
  ServerUnderTest server;
  const Response full = server.client().call("POST", "/v1/containers", R"({"name":"full"})");
  CHECK(full.status == 429);
  CHECK(full.headers.at("retry-after") == "7");
  CHECK(full.json().at("error").at("type") == "rate_limit_error");
}

TEST_CASE("what is wrong in a request is named") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  const auto param = [&](const std::string& target, const std::string& body) {
    const Response response = client.call("POST", target, body);
    CHECK(response.status == 400);
    CHECK(mismatch(response.json(), "Error").empty());
    const json::value found = response.json().at("error").at("param");
    return found.is_null() ? std::string("null") : std::string(found.as_string());
  };
  CHECK(param("/v1/containers", R"({"nam":"a"})") == "nam");
  CHECK(param("/v1/containers", R"({"name":1})") == "name");
  CHECK(param("/v1/containers", R"({"memory_limit":"lots"})") == "memory_limit");
  CHECK(param("/v1/containers", R"({"memory_limit":"0g"})") == "memory_limit");
  CHECK(param("/v1/containers", R"({"expires_after":{"minutes":0}})") == "expires_after.minutes");
  CHECK(param("/v1/containers", R"({"expires_after":{"minutes":1e99}})") ==
        "expires_after.minutes");
  CHECK(param("/v1/containers", R"({"network_policy":{"type":"allowlist"}})") == "network_policy");
  CHECK(param("/v1/containers", R"({"file_ids":[1]})") == "file_ids");
  CHECK(param("/v1/containers/" + id + "/execute", "{}") == "code");
  CHECK(param("/v1/containers/" + id + "/execute", R"({"code":"","timeout_s":0})") == "timeout_s");
  CHECK(param("/v1/containers/" + id + "/execute", R"({"code":"","timeout_s":1e400})") != "");
  CHECK(param("/v1/containers/" + id + "/execute", R"({"code":"","on_disconnect":"x"})") ==
        "on_disconnect");
  CHECK(param("/v1/execute", R"({"code":"","files":[{"name":"a"}]})") == "files");
  CHECK(param("/v1/execute", R"({"code":"","files":[{"name":"a","content_base64":"?"}]})") ==
        "files");
  CHECK(param("/v1/evaluate", "{}") == "expression");
  // What stands twice could be read in two ways.
  CHECK(param("/v1/containers", R"({"name":"a","name":"a"})") == "name");
  CHECK(param("/v1/containers", R"({"expires_after":{"minutes":1,"minutes":2}})") == "minutes");
  CHECK(param("/v1/containers/" + id + "/execute", R"({"code":"1","c\u006fde":"2"})") == "code");
  CHECK(param("/v1/execute", R"({"code":"","files":[{"name":"a","name":"b"}]})") == "name");
  CHECK(param("/v1/evaluate", R"({"expression":"1","expression":"2"})") == "expression");
  CHECK(param("/v1/containers/" + id + "/files", R"({"file_id":"a","file_id":"b"})") == "file_id");
  CHECK(client.call("GET", "/v1/containers?limit=0").status == 400);
  CHECK(client.call("GET", "/v1/containers?limit=101").status == 400);
  CHECK(client.call("GET", "/v1/containers?order=up").status == 400);
  CHECK(client.call("GET", "/v1/containers?after=nobody").status == 400);
  CHECK(client.call("GET", "/v1/containers?x=1").status == 400);
  const Response twice = client.call("GET", "/v1/containers?limit=1&order=asc&limit=2");
  CHECK(twice.status == 400);
  CHECK(twice.json().at("error").at("message") == "'limit' stands twice in the query");
  CHECK(client.call("GET", "/v1/containers/" + id + "/trace?format=md&format=md").status == 400);
  CHECK(param("/v1/containers/" + id + "/files?name=a&n%61me=b", "x") == "name");
}

TEST_CASE("a large body is read beside the loop, and as a small one is") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  const std::string target = "/v1/containers/" + id + "/execute";
  const std::string large(400'000, 'a');
  const std::string printed = large + "\n";
  const auto request = [&](const std::string& body) {
    return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  // Answers come in the order of the requests, whatever is read where.
  client.send(request(R"({"code":"print )" + large + "\"}") + request(R"({"code":"print b"})"));
  const Response first = client.read_response();
  REQUIRE(first.status == 200);
  CHECK(first.json().at("stdout") == printed.c_str());
  CHECK(client.read_response().json().at("stdout") == "b\n");
  CHECK(client.call("POST", target, R"({"code":")" + large).status == 400);
  const Response twice = client.call("POST", target, R"({"code":")" + large + R"(","code":""})");
  CHECK(twice.json().at("error").at("param") == "code");
  CHECK(client.call("POST", "/v1/execute", R"({"code":"print )" + large + "\"}")
            .json()
            .at("stdout") == printed.c_str());
  CHECK(client.call("POST", "/mcp", R"({"jsonrpc":")" + large + "\"}").status == 400);
}

TEST_CASE("an execution as one document") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  const Response done = client.call(
      "POST", "/v1/containers/" + id + "/execute",
      R"({"code":"print caf\u00e9;err e;bytes ff;result;file plot.png;raise ValueError"})");
  REQUIRE(done.status == 200);
  const json::value document = done.json();
  CHECK(mismatch(document, "Execution").empty());
  CHECK(document.at("stdout") == "caf\xc3\xa9\n\xef\xbf\xbd");
  CHECK(document.at("stdout_base64") == "Y2Fmw6kK/w==");
  CHECK(document.at("stderr") == "e\n");
  CHECK(document.at("outcome") == "raised");
  CHECK(document.at("error").at("name") == "ValueError");
  CHECK(document.at("results").at(0).at("json").at("a").at(0) == 1);
  CHECK(document.at("results").at(0).at("data").at("text/x-other") == "o");
  CHECK(document.at("files").at(0).at("source") == "assistant");
  CHECK(document.at("expires_at") == 1'700'001'200);
  for (const char c : done.body) CHECK((c >= 0x20 && c < 0x7f));
}

TEST_CASE("one shot, with files whose content comes along") {
  ServerUnderTest server;
  Client client = server.client();
  const Response done = client.call(
      "POST", "/v1/execute",
      R"({"code":"file a","files":[{"name":"in.csv","content":"1,2"}],"policy":"tight"})");
  CHECK(mismatch(done.json(), "Execution").empty());
  CHECK(done.json().at("files").at(0).at("content_base64") == "YWJj");
  const Response not_offered = client.call("POST", "/v1/execute", R"({"code":"","policy":"none"})");
  CHECK(not_offered.status == 503);
  CHECK(not_offered.json().at("error").at("type") == "server_error");
}

TEST_CASE("interrupt ends what runs, and says so when nothing does") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  CHECK(client.call("POST", "/v1/containers/" + id + "/interrupt").status == 400);
  Client other = server.client();
  const std::string body = R"({"code":"print begun;hang","stream":true})";
  other.send("POST /v1/containers/" + id +
             "/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
  other.read_until("begun");
  const Response done = client.call("POST", "/v1/containers/" + id + "/interrupt", "{}");
  CHECK(done.status == 200);
  CHECK(mismatch(done.json(), "Interrupted").empty());
  CHECK(other.read_until("end_of_execution").find("\"outcome\":\"interrupted\"") !=
        std::string::npos);
}

TEST_CASE("arithmetic, with and without sources") {
  ServerUnderTest server;
  Client client = server.client();
  const Response sum = client.call("POST", "/v1/evaluate", R"({"expression":"38.50 + 41.00"})");
  CHECK(sum.json() == json::parse(R"({"value":"79.5"})"));
  const Response refused = client.call("POST", "/v1/evaluate", R"j({"expression":"f()"})j");
  CHECK(refused.status == 200);
  CHECK(refused.json().at("refused") == "whitelist");
  const Response sourced =
      client.call("POST", "/v1/evaluate",
                  R"({"expression":"1 + 2","sources":[{"cite":"[1]","text":"there is 1"}]})");
  CHECK(sourced.json().at("unsourced").at(0) == "2");
  for (const Response& response : {sum, refused, sourced}) {
    CHECK(mismatch(response.json(), "Verdict").empty());
  }
  CHECK(client.call("POST", "/v1/evaluate", R"({"expression":"1","sources":[1]})").status == 400);
}

TEST_CASE("what the server says of itself") {
  ServerUnderTest server;
  Client client = server.client();
  CHECK(mismatch(client.call("GET", "/healthz").json(), "Health").empty());
  CHECK(client.call("GET", "/v1/policies").status == 200);
  CHECK(client.call("GET", "/v1/capabilities").status == 200);
  CHECK(client.call("GET", "/openapi.json").body == runner::wire::openapi_json());
  const Response metrics = client.call("GET", "/metrics");
  CHECK(metrics.headers.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(metrics.body.find("sandglass_http_replies_total{status=\"200\"} 4\n") != std::string::npos);
  CHECK(metrics.body.find("sandglass_http_connections 1\n") != std::string::npos);
}

TEST_CASE("unknown paths, methods and types, and HEAD and OPTIONS") {
  ServerUnderTest server;
  Client client = server.client();
  const Response lost = client.call("GET", "/v1/nothing");
  CHECK(lost.status == 404);
  CHECK(mismatch(lost.json(), "Error").empty());
  CHECK(client.call("GET", "/v1/containers/").status == 400);
  CHECK(client.call("GET", "/v1//containers").status == 400);
  CHECK(client.call("GET", "/v1/../metrics").status == 400);
  CHECK(client.call("GET", "/v1/containers/%2e%2e").status == 400);
  CHECK(client.call("GET", "/").status == 404);
  const Response method = client.call("PATCH", "/v1/containers");
  CHECK(method.status == 405);
  CHECK(method.headers.at("allow") == "POST, GET, HEAD, OPTIONS");
  CHECK(client.call("BREW", "/healthz").status == 405);
  const Response options = client.call("OPTIONS", "/v1/containers");
  CHECK(options.status == 204);
  CHECK(options.headers.at("allow") == "POST, GET, HEAD, OPTIONS");
  CHECK_FALSE(options.headers.contains("access-control-allow-origin"));
  CHECK_FALSE(options.headers.contains("content-length"));
  const Response head = client.call("HEAD", "/healthz");
  CHECK(head.status == 200);
  CHECK(head.headers.at("content-length") == "15");
  const Response typed =
      client.call("POST", "/v1/evaluate", R"({"expression":"1"})", "Content-Type: text/plain\r\n");
  CHECK(typed.status == 415);
  CHECK(client.call("GET", "http://localhost/healthz").status == 200);
  CHECK(client.call("GET", "/healthz").status == 200);  // the connection is still in step
}

TEST_CASE("no reply may be sniffed, kept, framed or run by a browser") {
  ServerUnderTest server;
  Client client = server.client();
  for (const char* target : {"/healthz", "/nothing", "/openapi.json"}) {
    const Response response = client.call("GET", target);
    CHECK(response.headers.at("x-content-type-options") == "nosniff");
    CHECK(response.headers.at("cache-control") == "no-store");
    CHECK(response.headers.at("x-frame-options") == "DENY");
    CHECK(response.headers.at("content-security-policy").starts_with("default-src 'none'"));
    CHECK(response.headers.at("content-type") == "application/json");
  }
}
