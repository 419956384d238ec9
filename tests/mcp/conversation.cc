#include "tests/mcp/conversation.h"

#include <stdexcept>

namespace mcp_test {
namespace {

class Recorder final : public runner::mcp::Outlet {
 public:
  explicit Recorder(Conversation& conversation) : conversation_(conversation) {}
  void notify(const std::string& message) override {
    if (!message.empty()) conversation_.heard.push_back(message);
  }
  void answer(const std::string& message, std::optional<runner::mcp::Code> /*failure*/) override {
    conversation_.heard.push_back(message);
  }
  void drop() override { ++conversation_.dropped; }

 private:
  Conversation& conversation_;
};

runner::mcp::Options options_of(jail::Millis progress) {
  runner::mcp::Options options;
  options.version = "0.1.0";
  options.progress_every = progress;
  return options;
}

}  // namespace

Conversation::Conversation(runner::mcp::Peer::Begun begun, jail::Millis progress)
    : desk(loop, service, options_of(progress)),
      peer(std::make_shared<runner::mcp::Peer>(desk, "", begun)) {}

void Conversation::say(const std::string& text) {
  auto message = runner::mcp::read_message(text);
  if (!message) {
    heard.push_back(runner::mcp::failure_text(message.error().id, message.error().failure));
  } else {
    peer->handle(std::move(*message), std::make_shared<Recorder>(*this));
  }
  loop.restart();
  loop.poll();
}

bool Conversation::hears(std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (heard.size() < count && std::chrono::steady_clock::now() < end) {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(5));
  }
  return heard.size() >= count;
}

json::value Conversation::ask(const std::string& text) {
  const std::size_t before = heard.size();
  say(text);
  if (heard.size() == before) return nullptr;
  json::value answer = json::parse(heard.back());
  return answer.as_object().contains("error") ? answer.at("error") : answer.at("result");
}

json::value Conversation::call(const std::string& tool, const std::string& arguments) {
  return ask(R"({"jsonrpc":"2.0","id":)" + std::to_string(++last_id_) +
             R"(,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" +
             arguments + "}}");
}

std::string Conversation::open_session() {
  const json::value result = call("execute_code", R"({"code":"end"})");
  return string_of(result.at("structuredContent").at("session_id"));
}

std::string string_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

std::string text_of(const json::value& result) {
  for (const json::value& block : result.at("content").as_array()) {
    if (block.at("type") == "text") return string_of(block.at("text"));
  }
  throw std::runtime_error("no text block");
}

std::string stateless(int id, const std::string& method, const std::string& more) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method +
         R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)" +
         R"("io.modelcontextprotocol/clientCapabilities":{}})" + more + "}}";
}

}  // namespace mcp_test
