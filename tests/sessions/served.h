// The built program serving on a free loopback port, and what its clients say to it. One thread.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/http/server_under_test.h"
#include "tests/support/run_binary.h"

namespace sessions_test {

using http_test::Client;
using http_test::Response;
using Json = boost::json::value;

class Served {
 public:
  // `options` follow "serve"; they must make it listen on 127.0.0.1.
  explicit Served(const std::vector<std::string>& options = {"--listen", "127.0.0.1:0"});
  [[nodiscard]] Client client() const;
  [[nodiscard]] pid_t pid() const { return child_->pid(); }
  [[nodiscard]] support::Child& child() { return *child_; }
  // All processes below the server, the oldest first.
  [[nodiscard]] std::vector<pid_t> below() const;

 private:
  std::unique_ptr<support::Child> child_;
  runner::http::Address address_;
};

// The id of a new container; fails the test if there is none within ten seconds.
std::string make(Client& client);
// POST with a JSON body.
Response post(Client& client, const std::string& target, const Json& body);
// Sends it and does not wait for the reply.
void send_execute(Client& client, const std::string& id, const Json& body);
// What is left of a stream: the objects of its lines.
std::vector<Json> rest_of_stream(Client& client);
// The "outcome" among events, or null.
Json outcome_of(const std::vector<Json>& events);
std::string types_of(const std::vector<Json>& events);
std::string text(const Json& value);

}  // namespace sessions_test
