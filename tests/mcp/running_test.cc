// While code runs: progress, cancellation, and what is told of it afterwards.
#include <catch2/catch.hpp>

#include "tests/mcp/conversation.h"

using namespace mcp_test;
using runner::mcp::Peer;

namespace {

std::string execute(int id, const std::string& code, const std::string& session,
                    const std::string& meta = "") {
  const std::string in = session.empty() ? "" : R"(,"session_id":")" + session + "\"";
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":")" + code +
         "\"" + in + "}" + meta + "}}";
}

const std::string kCancelFive =
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})";

}  // namespace

TEST_CASE("progress is told while code runs, rising, and only to who asked") {
  Conversation talk(Peer::Begun::kYes, jail::Millis{2});
  talk.say(execute(5, "print step 1;hang", "", R"(,"_meta":{"progressToken":"t"})"));
  REQUIRE(talk.hears(3));
  double last = 0;
  for (const std::string& text : talk.heard) {
    const json::value note = json::parse(text);
    CHECK(note.at("method") == "notifications/progress");
    CHECK(note.at("params").at("progressToken") == "t");
    CHECK(note.at("params").at("progress").to_number<double>() > last);
    last = note.at("params").at("progress").to_number<double>();
  }
  const json::value seen = json::parse(talk.heard.back());
  const std::string message = string_of(seen.at("params").at("message"));
  CHECK(message.starts_with("running, "));
  CHECK(message.ends_with("; step 1"));
  const std::size_t before = talk.heard.size();
  talk.say(kCancelFive);
  talk.loop.restart();
  talk.loop.run_for(std::chrono::milliseconds(20));
  CHECK(talk.heard.size() == before);  // not a word about it any more

  Conversation quiet(Peer::Begun::kYes, jail::Millis{1});
  quiet.say(execute(5, "hang", ""));
  quiet.loop.restart();
  quiet.loop.run_for(std::chrono::milliseconds(20));
  CHECK(quiet.heard.empty());
  quiet.peer->cancel_all();
}

TEST_CASE("a cancelled call is interrupted, not answered, and told of by the next") {
  Conversation talk;
  const std::string id = talk.open_session();
  const std::size_t before = talk.heard.size();
  talk.say(execute(5, "print a;hang", id));
  CHECK(talk.desk.running() == 1);
  talk.say(kCancelFive);
  CHECK(talk.service.interrupts == 1);
  CHECK(talk.dropped == 1);
  CHECK(talk.heard.size() == before);
  CHECK(talk.desk.running() == 0);
  talk.say(kCancelFive);  // too late, and again: ignored
  CHECK(talk.heard.size() == before);

  const std::string told =
      "An earlier call of this session was cancelled by the client: its code ended as "
      "interrupted, variables are kept";
  const json::value next = talk.ask(execute(6, "end", id));
  CHECK(string_of(next.at("structuredContent").at("notes").at(0)) == told);
  CHECK(text_of(next).find(told + ".\n") != std::string::npos);
  CHECK(next.at("isError") == false);
  const json::value after = talk.ask(execute(7, "end", id));
  CHECK(string_of(after.at("structuredContent").at("notes")).find("cancelled") ==
        std::string::npos);
}

TEST_CASE("cancellations of what does not run are ignored, however many and whatever they name") {
  Conversation talk;
  const std::string id = talk.open_session();
  talk.say(execute(5, "hang", id));
  const std::size_t before = talk.heard.size();
  for (const char* named : {"6", R"("5")", "5.0", "-5", "null", "[5]", R"({"id":5})", "true"})
    talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
             std::string(named) + "}}");
  talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{}})");
  talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
  talk.say(R"({"jsonrpc":"2.0","method":"notifications/no_such","params":{"requestId":5}})");
  for (int other = 1000; other < 11'000; ++other)
    talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
             std::to_string(other) + "}}");
  CHECK(talk.heard.size() == before);
  CHECK(talk.service.interrupts == 0);
  CHECK(talk.desk.running() == 1);
  talk.say(kCancelFive);
  CHECK(talk.service.interrupts == 1);
  CHECK(talk.desk.running() == 0);
}

TEST_CASE("a session that a cancelled call made itself goes with it") {
  Conversation talk;
  talk.say(execute(5, "hang", ""));
  CHECK(talk.service.list("", {}, "")->data.size() == 1);
  talk.say(kCancelFive);
  CHECK(talk.service.list("", {}, "")->data.empty());
  // Also when it comes before the session is there.
  auto message = runner::mcp::read_message(execute(8, "hang", ""));
  class Silent final : public runner::mcp::Outlet {
    void notify(const std::string&) override {}
    void answer(const std::string&, std::optional<runner::mcp::Code>) override {}
    void drop() override {}
  };
  talk.peer->handle(std::move(*message), std::make_shared<Silent>());
  talk.peer->cancel_all();
  talk.loop.restart();
  talk.loop.poll();
  CHECK(talk.service.list("", {}, "")->data.empty());
  CHECK(talk.desk.running() == 0);
}

TEST_CASE("many calls at once are each answered by their own id") {
  Conversation talk;
  const std::size_t before = talk.heard.size();
  for (int id = 1; id <= 20; ++id) {
    auto message = runner::mcp::read_message(execute(id, "print " + std::to_string(id), ""));
    class Collect final : public runner::mcp::Outlet {
     public:
      explicit Collect(Conversation& talk) : talk_(talk) {}
      void notify(const std::string&) override {}
      void answer(const std::string& text, std::optional<runner::mcp::Code>) override {
        talk_.heard.push_back(text);
      }
      void drop() override {}

     private:
      Conversation& talk_;
    };
    talk.peer->handle(std::move(*message), std::make_shared<Collect>(talk));
  }
  talk.loop.restart();
  talk.loop.poll();
  REQUIRE(talk.heard.size() == before + 20);
  for (const std::string& text : talk.heard) {
    const json::value answer = json::parse(text);
    CHECK(string_of(answer.at("result").at("structuredContent").at("stdout")) ==
          json::serialize(answer.at("id")) + "\n");
  }
}
