#include <catch2/catch.hpp>

#include "runner/text.h"
#include "runner/wire/containers_json.h"
#include "runner/wire/errors_json.h"
#include "runner/wire/execute_json.h"
#include "runner/wire/files_json.h"
#include "runner/wire/request_fields.h"
#include "runner/wire/server_json.h"
#include "tests/wire/golden.h"

using namespace runner;

namespace {

Container container() {
  return {"cntr_1",
          "caf\xc3\xa9 \xff",
          "standard",
          "python",
          Container::Status::kRunning,
          1'700'000'000,
          1'700'000'100,
          1'700'001'300,
          std::chrono::minutes(20),
          jail::mib(1024)};
}

}  // namespace

TEST_CASE("containers and files") {
  Listing<Container> containers{{container(), container()}, true};
  containers.data[1].id = "cntr_2";
  containers.data[1].status = Container::Status::kExpired;
  containers.data[1].memory = jail::mib(512);
  const Listing<File> files{
      {{"cfile_1", "cntr_1", "/mnt/data/a b", 3, 1, File::Source::kUser, "ab"},
       {"cfile_2", "cntr_1", "/mnt/data/\xfe", 0, 2, File::Source::kAssistant, "cd"}},
      false};
  wire_test::check_golden(
      "api.jsonl", wire::container_json(container()) + "\n" + wire::containers_json(containers) +
                       "\n" + wire::containers_json({}) + "\n" + wire::files_json(files) + "\n" +
                       wire::deleted_json("cntr_1", "container") + "\n");
}

TEST_CASE("the table of statuses, and errors in OpenAI's form") {
  using Kind = Refusal::Kind;
  CHECK(wire::status_of(Kind::kInvalid) == 400);
  CHECK(wire::status_of(Kind::kExpired) == 400);
  CHECK(wire::status_of(Kind::kNotFound) == 404);
  CHECK(wire::status_of(Kind::kTooLarge) == 413);
  CHECK(wire::status_of(Kind::kTooMany) == 429);
  CHECK(wire::status_of(Kind::kUnavailable) == 503);
  std::string text;
  for (const unsigned status : {400U, 401U, 403U, 404U, 405U, 413U, 415U, 429U, 503U}) {
    text += wire::error_json({status, "what and how to mend it", "param", "code"}) + "\n";
  }
  text += wire::error_json(wire::error_of({Kind::kExpired, "whatever", "id"})) + "\n";
  text += wire::error_json({400, "\xff\n"}) + "\n";
  wire_test::check_golden("errors.jsonl", text);
}

TEST_CASE("policies and capabilities") {
  policies::Policy policy;
  policy.name = "standard";
  policy.why = "data analysis";
  policy.interpreters["python"] = {};
  policy.session.idle = std::chrono::minutes(20);
  policy.limits.memory = jail::mib(512);
  policy.unsafe = {{"no_seccomp", "a test"}};
  policies::Policy restricted;
  restricted.name = "restricted";
  restricted.mode = policies::Mode::kRestricted;
  const std::vector<policies::Policy> all = {policy, restricted};
  const wire::Capabilities capabilities{
      "1.0", "standard", {"python"}, 30U << 20U, {{"cgroup memory", "yes", "v1", "limits"}}};
  const std::vector<Preload> preloads = {
      {"standard",
       "python",
       Preload::State::kReady,
       {"numpy", "pandas"},
       {{"pandas", "ModuleNotFoundError: No module named 'pandas'"}}},
      {"tight", "python", Preload::State::kStarting, {"numpy"}, {}}};
  wire_test::check_golden("server.jsonl", wire::policies_json(all, "standard") + "\n" +
                                              wire::capabilities_json(capabilities, preloads) +
                                              "\n");
}

TEST_CASE("a wish for a container, whole") {
  const auto wish = wire::container_wish(
      R"({"name":"n","policy":"tight","language":"node","memory_limit":"64m",)"
      R"("expires_after":{"minutes":3},"file_ids":["cfile_1"],"network_policy":null})");
  REQUIRE(wish);
  CHECK(wish->policy == "tight");
  CHECK(wish->idle == std::chrono::minutes(3));
  CHECK(wish->memory == jail::mib(64));
  CHECK(wish->file_ids == std::vector<std::string>{"cfile_1"});
  CHECK(wire::container_wish("{}"));
  CHECK_FALSE(wire::container_wish(""));
}

TEST_CASE("a wish for an execution, whole") {
  const auto wish = wire::execute_request(
      R"({"code":"1","language":"bash","timeout_s":1.5,"stdin":"x","stream":true,)"
      R"("on_disconnect":"interrupt"})");
  REQUIRE(wish);
  CHECK(wish->wish.timeout == jail::Millis{1500});
  CHECK(wish->wish.input == "x");
  CHECK(wish->stream == true);
  CHECK(wish->on_disconnect == wire::OnDisconnect::kInterrupt);
  const auto once = wire::once_request(
      R"({"code":"1","policy":"tight","memory_limit":"1g",)"
      R"("files":[{"name":"a","content_base64":"AP8="},{"name":"b","content":""}]})");
  REQUIRE(once);
  CHECK(once->wish.files[0].second == std::string("\0\xff", 2));
  CHECK(once->wish.memory == jail::mib(1024));
}

TEST_CASE("sizes as clients write them") {
  CHECK(wire::size_from("1g") == jail::mib(1024));
  CHECK(wire::size_from("512M") == jail::mib(512));
  CHECK(wire::size_from("1024") == jail::kib(1));
  for (const char* wrong :
       {"", "0", "g", "1gb", "1.5g", "-1g", " 1g", "99999999999g", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(wire::size_from(wrong));
  }
}

TEST_CASE("names that stand twice are found at any depth, however they are spelt") {
  CHECK_FALSE(wire::parse_object(R"({"a":1,"\u0061":2})"));
  CHECK_FALSE(wire::parse_object(R"({"a":[{"b":{"c":1,"d":2,"c":3}}]})"));
  CHECK(wire::parse_object(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})"));
}

TEST_CASE("base64, strictly") {
  for (std::size_t size = 0; size < 70; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 37);
    CHECK(bytes_from_base64(base64(bytes)) == bytes);
  }
  for (const char* wrong :
       {"a", "ab", "abc", "ab=c", "a===", "====", "ab\n=", "a-_=", "AA==AA=="}) {
    CAPTURE(wrong);
    CHECK_FALSE(bytes_from_base64(wrong));
  }
}
