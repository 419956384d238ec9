// What the tools answer, over a service without jails.
#include <catch2/catch.hpp>
#include <set>

#include "runner/mcp/execution_result.h"
#include "runner/text.h"
#include "tests/mcp/conversation.h"

using namespace mcp_test;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> block_types(const json::value& result) {
  std::vector<std::string> types;
  for (const json::value& block : result.at("content").as_array()) {
    types.push_back(string_of(block.at("type")));
  }
  return types;
}

}  // namespace

TEST_CASE("tools say what they take, what they give and what they touch") {
  Conversation talk;
  const json::value list = talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  std::set<std::string> names;
  for (const json::value& tool : list.at("tools").as_array()) {
    names.insert(string_of(tool.at("name")));
    CHECK(tool.at("inputSchema").at("additionalProperties") == false);
    CHECK(tool.at("outputSchema").at("type") == "object");
    CHECK(tool.at("annotations").at("openWorldHint") == false);
    CHECK(string_of(tool.at("description")).size() > 40);
  }
  CHECK(names == std::set<std::string>{"execute_code", "evaluate_expression", "list_files",
                                       "read_file", "write_file", "close_session"});
  const json::value& execute = list.at("tools").at(0);
  CHECK(execute.at("inputSchema").at("properties").at("language").at("enum") ==
        json::parse(R"(["python"])"));
  CHECK(execute.at("annotations").at("readOnlyHint") == false);
}

TEST_CASE("an execution: text, structure, image, link") {
  Conversation talk;
  const json::value result =
      talk.call("execute_code", R"({"code":"print hi;err oh;result;file out.csv"})");
  const json::value& about = result.at("structuredContent");
  CHECK(result.at("isError") == false);
  CHECK(about.at("outcome") == "ok");
  CHECK(about.at("session_is_new") == true);
  CHECK(about.at("execution_count") == 1);
  CHECK(about.at("stdout") == "hi\n");
  CHECK(about.at("stderr") == "oh\n");
  CHECK(about.at("state_preserved") == true);
  CHECK(about.at("results").at(0).at("text") == "2");
  CHECK(about.at("results").at(0).at("images") == json::parse(R"(["image/png"])"));
  CHECK(about.at("usage").at("wall_ms") == 3);
  CHECK(about.at("expires_at") == 1'700'001'200);
  CHECK(about.at("notes") == json::parse(R"(["pipe is not offered: a FIFO"])"));
  const std::string id = string_of(about.at("session_id"));
  CHECK(string_of(about.at("files").at(0).at("uri")) == "sandglass://" + id + "/mnt/data/out.csv");

  CHECK(block_types(result) == std::vector<std::string>{"text", "image", "resource_link"});
  CHECK(result.at("content").at(1).at("data") == "iVBORw0KGgo=");
  CHECK(result.at("content").at(1).at("mimeType") == "image/png");
  CHECK(result.at("content").at(2).at("mimeType") == "text/csv");
  CHECK(result.at("content").at(2).at("size") == 3);
  const std::string text = text_of(result);
  CHECK(text.starts_with("ok in 3ms\nsession_id: " + id + " (new)\n"));
  CHECK(has(text, "denied socket(AF_INET)"));
  CHECK(has(text, "--- stdout\nhi\n"));

  const json::value again =
      talk.call("execute_code", R"({"code":"end","session_id":")" + id + "\"}");
  CHECK(again.at("structuredContent").at("session_is_new") == false);
  CHECK(again.at("structuredContent").at("execution_count") == 2);
}

TEST_CASE("code that raises is a tool's error with the whole result") {
  Conversation talk;
  const json::value result = talk.call("execute_code", R"({"code":"raise ValueError"})");
  CHECK(result.at("isError") == true);
  CHECK(result.at("structuredContent").at("outcome") == "raised");
  CHECK(result.at("structuredContent").at("error").at("name") == "ValueError");
  CHECK(has(text_of(result), "raised in 3ms; variables are kept\n"));
  CHECK(has(text_of(result), "--- error\nTraceback ...\n"));
}

TEST_CASE("5 MB of stdout are cut, and the result says so") {
  Conversation talk;
  const json::value result = talk.call("execute_code", R"({"code":"flood 5"})");
  const json::value& about = result.at("structuredContent");
  CHECK(about.at("stdout").as_string().size() == 65536);
  CHECK(about.at("truncated").at("stdout") == true);
  CHECK(about.at("truncated").at("stderr") == false);
  CHECK(has(string_of(about.at("notes").at(0)), "stdout is cut: the first 64K of "));
  CHECK(has(text_of(result), "stdout is cut: the first 64K of "));
  CHECK(talk.heard.back().size() < 200'000);
  // A character is not cut in half, and a byte that is none is told.
  const json::value odd = talk.call("execute_code", R"({"code":"bytes 61ff62"})");
  CHECK(odd.at("structuredContent").at("stdout") ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(has(text_of(odd), "stdout is not UTF-8"));
}

TEST_CASE("arguments that are wrong are told to the model") {
  Conversation talk;
  const auto refused = [&](const std::string& tool, const std::string& arguments) {
    const json::value result = talk.call(tool, arguments);
    CHECK(result.at("isError") == true);
    CHECK_FALSE(result.as_object().contains("structuredContent"));
    CHECK(result.at("_meta").at("sandglass/refusal").at("kind") == "invalid");
    return text_of(result);
  };
  CHECK(refused("execute_code", "{}") == "'code' is missing.");
  CHECK(refused("execute_code", R"({"code":"end","timeout":3})") ==
        "there is no parameter 'timeout'.");
  CHECK(refused("execute_code", R"({"code":3})") == "'code' must be a string.");
  CHECK(has(refused("execute_code", R"({"code":"end","timeout_s":0})"), "over 0"));
  CHECK(refused("evaluate_expression", "{}") == "'expression' is missing.");
  CHECK(refused("list_files", "{}") == "'session_id' is missing.");
  CHECK(refused("close_session", R"({"session_id":"a","after":"b"})") ==
        "there is no parameter 'after'.");
  CHECK(refused("read_file", R"({"session_id":"a"})") == "'path' is missing.");
  CHECK(has(refused("read_file", R"({"session_id":"a","path":"b","max_bytes":0})"), "max_bytes"));
  CHECK(has(refused("write_file", R"({"path":"a"})"), "content_base64"));
  CHECK(has(refused("write_file", R"({"path":"a/b","content":""})"), "folders"));
  CHECK(has(refused("write_file", R"({"path":"a","content_base64":"*"})"), "not base64"));
  CHECK(talk.desk.running() == 0);
}

TEST_CASE("a session that is unknown, and one that has expired, are two things") {
  Conversation talk;
  const std::string id = talk.open_session();
  for (const char* tool : {"execute_code", "list_files", "close_session"}) {
    const bool is_code = std::string(tool) == "execute_code";
    const std::string code = is_code ? R"("code":"end",)" : "";
    const json::value unknown = talk.call(tool, "{" + code + R"("session_id":"cntr_0"})");
    CHECK(unknown.at("isError") == true);
    CHECK(unknown.at("_meta").at("sandglass/refusal").at("kind") == "not_found");
    CHECK(has(text_of(unknown), "There is no session 'cntr_0'"));
    CHECK(has(text_of(unknown), "Call execute_code without session_id"));
  }
  talk.service.expire(id);
  const json::value expired =
      talk.call("execute_code", R"({"code":"end","session_id":")" + id + "\"}");
  CHECK(expired.at("_meta").at("sandglass/refusal").at("kind") == "expired");
  CHECK(has(text_of(expired), "The session '" + id + "' has expired"));
  CHECK(has(text_of(expired), "variables and files are gone"));
}

TEST_CASE("files: written, listed, read in pieces, read as a resource") {
  Conversation talk;
  const json::value wrote =
      talk.call("write_file", R"({"path":"/mnt/data/a b.txt","content":"caf\u00e9 and more"})");
  const std::string id = string_of(wrote.at("structuredContent").at("session_id"));
  CHECK(wrote.at("structuredContent").at("session_is_new") == true);
  CHECK(wrote.at("structuredContent").at("file").at("bytes") == 14);
  const std::string uri = "sandglass://" + id + "/mnt/data/a%20b.txt";
  CHECK(string_of(wrote.at("content").at(1).at("uri")) == uri);

  const std::string in = R"({"session_id":")" + id + "\"";
  const json::value list = talk.call("list_files", in + "}");
  CHECK(list.at("structuredContent").at("files").as_array().size() == 1);
  CHECK(list.at("structuredContent").at("has_more") == false);
  CHECK(block_types(list) == std::vector<std::string>{"text", "resource_link"});

  // The fourth and fifth bytes are one character: no piece begins or ends within it.
  const json::value piece = talk.call("read_file", in + R"(,"path":"a b.txt","max_bytes":4})");
  CHECK(piece.at("structuredContent").at("content") == "caf");
  CHECK(piece.at("structuredContent").at("truncated") == true);
  CHECK(piece.at("structuredContent").at("next_offset") == 3);
  const json::value rest = talk.call("read_file", in + R"(,"path":"a b.txt","offset":3})");
  CHECK(rest.at("structuredContent").at("content") == "\xC3\xA9 and more");
  CHECK(rest.at("structuredContent").at("truncated") == false);
  CHECK_FALSE(rest.at("structuredContent").as_object().contains("next_offset"));

  const json::value resource = talk.ask(
      R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":")" + uri + "\"}}");
  CHECK(resource.at("contents").at(0).at("text") == "caf\xC3\xA9 and more");
  CHECK(resource.at("contents").at(0).at("mimeType") == "text/plain");

  talk.call("write_file", in + R"(,"path":"b.bin","content_base64":"/wD+"})");
  const json::value binary = talk.call("read_file", in + R"(,"path":"b.bin"})");
  CHECK(binary.at("structuredContent").at("encoding") == "base64");
  CHECK(binary.at("structuredContent").at("content") == "/wD+");
  talk.call("write_file", in + R"(,"path":"c.png","content_base64":"iVBORw0KGgo="})");
  const json::value image = talk.call("read_file", in + R"(,"path":"c.png"})");
  CHECK(block_types(image) == std::vector<std::string>{"text", "image"});
  CHECK(image.at("content").at(1).at("data") == "iVBORw0KGgo=");

  const json::value missing = talk.call("read_file", in + R"(,"path":"none"})");
  CHECK(missing.at("isError") == true);
  CHECK(has(text_of(missing), "there is no file /mnt/data/none"));
  CHECK(talk.call("close_session", in + "}").at("structuredContent").at("closed") == true);
  CHECK(talk.call("close_session", in + "}").at("isError") == true);
}

TEST_CASE("a resource that is not there has the code of its revision") {
  Conversation talk;
  const std::string uri = R"("uri":"sandglass://cntr_0/mnt/data/a")";
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{)" + uri + "}}")
            .at("code") == -32002);
  CHECK(talk.ask(stateless(2, "resources/read", "," + uri)).at("code") == -32602);
  for (const char* odd : {"file:///etc/passwd", "sandglass://", "sandglass:///x",
                          "sandglass://cntr_0", "sandglass://cntr_0/%00", "sandglass://c/%4"}) {
    const json::value error =
        talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":")" +
                 std::string(odd) + "\"}}");
    CHECK(error.at("code") == -32002);
  }
}

TEST_CASE("arithmetic: a value, a refusal and a decline are three things") {
  Conversation talk;
  const json::value value =
      talk.call("evaluate_expression", R"({"expression":"38.50 + 41.00",)"
                                       R"("sources":[{"cite":"[1]","text":"38.50 paid"}]})");
  CHECK(value.at("structuredContent").at("value") == "79.5");
  CHECK(value.at("structuredContent").at("unsourced") == json::parse(R"(["41.00"])"));
  CHECK(value.at("isError") == false);
  const json::value refused = talk.call("evaluate_expression", R"({"expression":"2**10"})");
  CHECK(refused.at("structuredContent").at("refused") == "whitelist");
  CHECK(refused.at("isError") == true);
  const json::value declined = talk.call("evaluate_expression", R"({"expression":"NONE"})");
  CHECK(declined.at("structuredContent").at("declined") == true);
  CHECK(declined.at("isError") == false);
}

TEST_CASE("results that were left out, and variables that were gone before, are said") {
  runner::mcp::ExecutionResult result;
  result.add(runner::Begun{"exec_1", 1});
  runner::Finished finished;
  finished.results_dropped = 3;
  finished.outcome.text = "the interpreter had ended before this began (status 3)";
  result.add(finished);
  const json::value told = result.object({"cntr_1", false}, {});
  const json::array& notes = told.at("structuredContent").at("notes").as_array();
  REQUIRE(notes.size() == 1);
  CHECK(string_of(notes[0]).starts_with("3 results are left out"));
  CHECK(told.at("structuredContent").at("state_preserved") == false);
  const std::string text = string_of(told.at("content").at(0).at("text"));
  CHECK(has(text, "ok in 0ms: the interpreter had ended before this began (status 3)\n"));
  CHECK(has(text, "3 results are left out"));
}
