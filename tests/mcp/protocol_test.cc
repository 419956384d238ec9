// Who may say what, in both eras; and what is no message at all.
#include <catch2/catch.hpp>

#include "tests/mcp/conversation.h"

using namespace mcp_test;
using runner::mcp::Peer;

namespace {

const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
    R"("capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";

std::string initialize(const std::string& revision) {
  return R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" +
         revision + R"(","capabilities":{}}})";
}

std::string answer_to(Conversation& talk, const std::string& text) {
  talk.say(text);
  REQUIRE_FALSE(talk.heard.empty());
  return talk.heard.back();
}

}  // namespace

TEST_CASE("a client that begins with initialize") {
  Conversation talk(Peer::Begun::kNot);
  const json::value early = talk.ask(R"({"jsonrpc":"2.0","id":0,"method":"tools/list"})");
  CHECK(early.at("code") == -32600);
  CHECK(string_of(early.at("message")).starts_with("begin with initialize"));
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":"p","method":"ping"})") == json::object());

  const json::value begun = talk.ask(kInitialize);
  CHECK(begun.at("protocolVersion") == "2025-11-25");
  CHECK(begun.at("capabilities") ==
        json::parse(R"({"tools":{"listChanged":false},"resources":{}})"));
  CHECK(begun.at("serverInfo").at("name") == "sandglass");
  CHECK(begun.at("serverInfo").at("version") == "0.1.0");
  CHECK_FALSE(begun.as_object().contains("resultType"));

  const std::size_t before = talk.heard.size();
  talk.say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  talk.say(R"({"jsonrpc":"2.0","method":"notifications/no-such"})");
  talk.say(R"({"jsonrpc":"2.0","id":7,"result":{}})");
  CHECK(talk.heard.size() == before);

  const json::value tools = talk.ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})");
  CHECK(tools.at("tools").as_array().size() == 6);
  CHECK_FALSE(tools.as_object().contains("ttlMs"));
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":3,"method":"server/discover"})").at("code") == -32601);
}

TEST_CASE("a revision that is not known is answered with the newest that is") {
  for (const char* known : {"2025-11-25", "2025-06-18"}) {
    Conversation talk(Peer::Begun::kNot);
    CHECK(talk.ask(initialize(known)).at("protocolVersion") == known);
  }
  for (const char* unknown : {"2024-11-05", "2026-07-28", "1900-01-01"}) {
    Conversation talk(Peer::Begun::kNot);
    CHECK(talk.ask(initialize(unknown)).at("protocolVersion") == "2025-11-25");
  }
  Conversation talk(Peer::Begun::kNot);
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})").at("code") ==
        -32602);
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})").at("code") == -32600);
}

TEST_CASE("a client without a handshake says all in each request") {
  Conversation talk(Peer::Begun::kNot);
  const json::value found = talk.ask(stateless(1, "server/discover"));
  CHECK(found.at("supportedVersions") ==
        json::parse(R"(["2026-07-28","2025-11-25","2025-06-18"])"));
  CHECK(found.at("resultType") == "complete");
  CHECK(found.at("ttlMs") == 3600000);
  CHECK(found.at("cacheScope") == "public");
  CHECK(found.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "sandglass");

  const json::value tools = talk.ask(stateless(2, "tools/list"));
  CHECK(tools.at("tools").as_array().size() == 6);
  CHECK(tools.at("resultType") == "complete");
  CHECK(tools.at("cacheScope") == "public");
  CHECK(talk.ask(stateless(3, "ping")).at("code") == -32601);
  CHECK(talk.ask(stateless(4, "initialize")).at("code") == -32601);
  const json::value done = talk.ask(
      stateless(5, "tools/call", R"(,"name":"execute_code","arguments":{"code":"print a"})"));
  CHECK(done.at("resultType") == "complete");
  CHECK(done.at("structuredContent").at("stdout") == "a\n");
  // It has said nothing of a handshake: the next request without _meta is none of this era.
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":6,"method":"tools/list"})").at("code") == -32600);
}

TEST_CASE("a revision without a handshake that is not spoken here") {
  Conversation talk(Peer::Begun::kNot);
  const json::value error =
      talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{)"
               R"("io.modelcontextprotocol/protocolVersion":"2027-01-01",)"
               R"("io.modelcontextprotocol/clientCapabilities":{}}}})");
  CHECK(error.at("code") == -32022);
  CHECK(error.at("data").at("requested") == "2027-01-01");
  CHECK(error.at("data").at("supported").at(0) == "2026-07-28");
  const json::value bare =
      talk.ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{)"
               R"("io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  CHECK(bare.at("code") == -32602);
  CHECK(string_of(bare.at("message")).find("clientCapabilities") != std::string::npos);
}

TEST_CASE("what is no message, byte for byte") {
  Conversation talk;
  CHECK(answer_to(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,").find(R"("code":-32700)") !=
        std::string::npos);
  CHECK(answer_to(talk, "").find(R"("code":-32700)") != std::string::npos);
  CHECK(answer_to(talk, R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])") ==
        R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this )"
        R"(protocol; send each message by itself"}})");
  CHECK(answer_to(talk, "[]").find(R"("code":-32600)") != std::string::npos);
  CHECK(answer_to(talk, "3") ==
        R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be a JSON object"}})");
  CHECK(
      answer_to(talk, R"({"jsonrpc":"1.0","id":5,"method":"ping"})") ==
      R"({"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"'jsonrpc' must be \"2.0\""}})");
  CHECK(answer_to(talk, R"({"id":5,"method":"ping"})").find(R"("id":5,)") != std::string::npos);
  for (const char* id : {"null", "1.5", "true", "[1]", "{}"}) {
    const std::string text = R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"ping"})";
    CHECK(answer_to(talk, text) ==
          R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"'id' must be a string or a )"
          R"(whole number"}})");
  }
  CHECK(answer_to(talk, R"({"jsonrpc":"2.0","id":5})").find("there is no 'method'") !=
        std::string::npos);
  CHECK(answer_to(talk, R"({"jsonrpc":"2.0","id":5,"method":7})").find("-32600") !=
        std::string::npos);
  CHECK(
      answer_to(talk, R"({"jsonrpc":"2.0","id":5,"method":"ping","params":[1]})").find("-32602") !=
      std::string::npos);
  CHECK(answer_to(talk, R"({"jsonrpc":"2.0","id":5,"id":6,"method":"ping"})")
            .find("'id' stands twice") != std::string::npos);
  CHECK(
      answer_to(talk, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}").find("-32700") !=
      std::string::npos);
  std::string deep = R"({"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":)";
  deep += std::string(100, '[') + std::string(100, ']') + "}}";
  CHECK(answer_to(talk, deep).find("-32700") != std::string::npos);
  for (const char* meta : {"3", R"({"progressToken":1.5})", R"({"progressToken":[]})"}) {
    const json::value error = talk.ask(
        R"({"jsonrpc":"2.0","id":5,"method":"ping","params":{"_meta":)" + std::string(meta) + "}}");
    CHECK(error.at("code") == -32602);
  }
}

TEST_CASE("methods and tools that are not there") {
  Conversation talk;
  const json::value method = talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"prompts/list"})");
  CHECK(method.at("code") == -32601);
  CHECK(method.at("message") == "there is no method 'prompts/list' in this revision");
  const json::value tool = talk.call("run_shell", "{}");
  CHECK(tool.at("code") == -32602);
  CHECK(tool.at("message") == "there is no tool 'run_shell'; tools/list names them");
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}})").at("code") ==
        -32602);
  CHECK(talk.call("execute_code", "[]").at("code") == -32602);
  CHECK(talk.desk.running() == 0);
}

TEST_CASE("ids are the client's, and one that is in use is taken") {
  Conversation talk;
  const std::string call = R"(,"method":"tools/call","params":{"name":"execute_code",)"
                           R"("arguments":{"code":"hang"}}})";
  talk.say(R"({"jsonrpc":"2.0","id":"1")" + call);
  talk.say(R"({"jsonrpc":"2.0","id":1)" + call);  // another one: a number
  CHECK(talk.heard.empty());
  CHECK(talk.desk.running() == 2);
  const json::value taken = talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  CHECK(taken.at("code") == -32600);
  talk.peer->cancel_all();
  talk.loop.restart();
  talk.loop.poll();
  CHECK(talk.desk.running() == 0);
  CHECK_FALSE(talk.peer->is_busy());
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"ping"})") == json::object());
}

TEST_CASE("an id of any size comes back as it was, or is refused") {
  Conversation talk;
  const auto ping = [](const std::string& id) {
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"ping"})";
  };
  for (const std::string id : {"0", "-1", "-9223372036854775808", "9223372036854775808",
                               "18446744073709551615", R"("")", R"("\u0000")", R"("\u00e9")"})
    CHECK(answer_to(talk, ping(id)) == R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})");
  const std::string huge = '"' + std::string(1'000'000, 'x') + '"';
  CHECK(answer_to(talk, ping(huge)) == R"({"jsonrpc":"2.0","id":)" + huge + R"(,"result":{}})");
  for (const std::string id : {"18446744073709551616", "1e400", "1.0", "-0.0"})
    CHECK(answer_to(talk, ping(id)).find("'id' must be a string or a whole number") !=
          std::string::npos);
}
