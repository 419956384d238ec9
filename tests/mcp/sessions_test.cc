// The protocol over real sessions, in this process: no client is needed.
#include <catch2/catch.hpp>

#include "tests/mcp/conversation.h"
#include "tests/sessions/sessions_under_test.h"

namespace json = boost::json;
using mcp_test::string_of;

namespace {

class Recorder final : public runner::mcp::Outlet {
 public:
  void notify(const std::string& /*message*/) override { ++notes; }
  void answer(const std::string& message, std::optional<runner::mcp::Code> /*failure*/) override {
    answered = json::parse(message).at("result");
  }
  void drop() override { dropped = true; }
  json::value answered = nullptr;
  int notes = 0;
  bool dropped = false;
};

class Talk {
 public:
  std::shared_ptr<Recorder> begin(const std::string& tool, const std::string& arguments) {
    auto message = runner::mcp::read_message(R"({"jsonrpc":"2.0","id":)" + std::to_string(++id_) +
                                             R"(,"method":"tools/call","params":{"name":")" + tool +
                                             R"(","_meta":{"progressToken":1},"arguments":)" +
                                             arguments + "}}");
    auto recorder = std::make_shared<Recorder>();
    peer_->handle(std::move(*message), recorder);
    return recorder;
  }
  json::value call(const std::string& tool, const std::string& arguments) {
    const auto recorder = begin(tool, arguments);
    sessions.until([&] { return !recorder->answered.is_null(); });
    return recorder->answered;
  }
  void cancel_last() const {
    peer_->handle(*runner::mcp::read_message(
                      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{)"
                      R"("requestId":)" +
                      std::to_string(id_) + "}}"),
                  nullptr);
  }

  sessions_test::SessionsUnderTest sessions;

 private:
  runner::mcp::Desk desk_{sessions.loop, *sessions.service, {"0.1.0", {}, {}, jail::Millis{20}}};
  std::shared_ptr<runner::mcp::Peer> peer_ =
      std::make_shared<runner::mcp::Peer>(desk_, "", runner::mcp::Peer::Begun::kYes);
  int id_ = 0;
};

}  // namespace

TEST_CASE("mcp sessions: code, its file, and the file by every way there is") {
  sessions_test::require_jails();
  Talk talk;
  const json::value made =
      talk.call("execute_code", R"x({"code":"import os; os.mkdir('d')\nx = 40\n)x"
                                R"x(open('d/a.txt', 'w').write('caf\u00e9')"})x");
  INFO(json::serialize(made));
  REQUIRE(made.at("isError") == false);
  const std::string id = string_of(made.at("structuredContent").at("session_id"));
  CHECK(made.at("structuredContent").at("files").at(0).at("path") == "/mnt/data/d/a.txt");
  const std::string in = R"({"session_id":")" + id + "\"";
  const json::value next = talk.call("execute_code", in + R"(,"code":"x + 2"})");
  CHECK(next.at("structuredContent").at("results").at(0).at("text") == "42");
  const json::value read = talk.call("read_file", in + R"(,"path":"d/a.txt"})");
  CHECK(read.at("structuredContent").at("content") == "caf\xC3\xA9");
  CHECK(talk.call("read_file", in + R"(,"path":"/etc/passwd"})").at("isError") == true);
  CHECK(talk.call("read_file", in + R"(,"path":"../../etc/passwd"})").at("isError") == true);
  talk.call("write_file", in + R"(,"path":"b.txt","content":"b"})");
  const json::value list = talk.call("list_files", in + "}");
  CHECK(list.at("structuredContent").at("files").as_array().size() == 2);
  const json::value rest = talk.call("list_files", in + R"(,"after":"/mnt/data/d/a.txt"})");
  CHECK(rest.at("structuredContent").at("files").as_array().size() == 1);
  CHECK(talk.call("close_session", in + "}").at("isError") == false);
  CHECK(talk.call("list_files", in + "}").at("_meta").at("sandglass/refusal").at("kind") ==
        "not_found");
}

TEST_CASE("mcp sessions: a loop is cancelled in its middle, and its variables are kept") {
  sessions_test::require_jails();
  Talk talk;
  const json::value made = talk.call("execute_code", R"({"code":"n = 0"})");
  const std::string in =
      R"({"session_id":")" + string_of(made.at("structuredContent").at("session_id")) + "\"";
  const auto running = talk.begin("execute_code", in + R"(,"code":"while True:\n    n += 1"})");
  talk.sessions.until([&] { return running->notes > 2; });
  talk.cancel_last();
  CHECK(running->dropped);
  const json::value next = talk.call("execute_code", in + R"(,"code":"n > 0"})");
  CHECK(next.at("structuredContent").at("results").at(0).at("text") == "True");
  CHECK(string_of(next.at("structuredContent").at("notes").at(0)) ==
        "An earlier call of this session was cancelled by the client: its code ended as "
        "interrupted, variables are kept");
  CHECK(running->answered.is_null());
}

TEST_CASE("mcp sessions: one that has expired says so") {
  sessions_test::require_jails();
  Talk talk;
  const json::value made = talk.call("execute_code", R"({"code":"n = 0"})");
  const std::string in =
      R"({"session_id":")" + string_of(made.at("structuredContent").at("session_id")) + "\"";
  talk.sessions.move_clock(std::chrono::minutes(21));
  const json::value late = talk.call("execute_code", in + R"(,"code":"n"})");
  CHECK(late.at("isError") == true);
  CHECK(late.at("_meta").at("sandglass/refusal").at("kind") == "expired");
}
