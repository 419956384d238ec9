#include "tests/sessions/served.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sessions_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

const std::string kSays = "serving http://127.0.0.1:";

std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; file >> child;) found.push_back(child);
  return found;
}

}  // namespace

Served::Served(const std::vector<std::string>& options) {
  support::Call call;
  call.args = {"serve"};
  call.args.insert(call.args.end(), options.begin(), options.end());
  call.patience = 100s;
  child_ = std::make_unique<support::Child>(call, support::Child::Input::kHeld);
  if (!child_->warns("sandglass: try: ", 20s)) FAIL("it does not serve: " << child_->err());
  const std::size_t at = child_->err().find(kSays) + kSays.size();
  address_ = *runner::http::parse_address(
      "127.0.0.1:" + child_->err().substr(at, 5).substr(0, child_->err().substr(at, 5).find(' ')));
}

Client Served::client() const { return Client(address_); }

std::vector<pid_t> Served::below() const {
  std::vector<pid_t> all = children_of(pid());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}

Response post(Client& client, const std::string& target, const Json& body) {
  return client.call("POST", target, json::serialize(body));
}

std::string make(Client& client) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  for (;;) {
    const Response made = post(client, "/v1/containers", {{"name", "c"}});
    if (made.status == 200) return text(made.json().at("id"));
    INFO(made.body);
    REQUIRE(made.status == 503);
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::sleep_for(50ms);
  }
}

void send_execute(Client& client, const std::string& id, const Json& body) {
  const std::string all = json::serialize(body);
  client.send("POST /v1/containers/" + id +
              "/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              "Content-Length: " +
              std::to_string(all.size()) + "\r\n\r\n" + all);
}

std::vector<Json> rest_of_stream(Client& client) {
  const Response response = client.read_response("POST");
  std::vector<Json> events;
  std::size_t from = 0;
  while (from < response.body.size()) {
    const std::size_t end = response.body.find('\n', from);
    events.push_back(json::parse(response.body.substr(from, end - from)));
    from = end + 1;
  }
  return events;
}

Json outcome_of(const std::vector<Json>& events) {
  for (const Json& event : events)
    if (event.at("type") == "outcome") return event;
  return nullptr;
}

std::string types_of(const std::vector<Json>& events) {
  std::string types;
  for (const Json& event : events) {
    const std::string type = text(event.at("type"));
    if (type != "keepalive" && !types.ends_with(type + " ")) types += type + " ";
  }
  return types;
}

std::string text(const Json& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

}  // namespace sessions_test
