// sandglass eval --batch.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/eval/program.h"

using eval_test::Ran;
using eval_test::sandglass;
using eval_test::Talk;

namespace {

constexpr const char* kNoString = "{\"error\": \"the line is not a JSON string\"}\n";
constexpr const char* kTooLong = "{\"error\": \"the line is longer than 1 MiB\"}\n";

Ran batch(const std::string& input) { return sandglass({"eval", "--batch"}, {input}); }

}  // namespace

TEST_CASE("a verdict for each line, in order") {
  const Ran ran = batch("\"1+1\"\n\"NONE\"\n\"1/0\"\r\n  \"\\u0031 + 2\" \n");
  CHECK(ran.out ==
        "{\"value\": \"2\"}\n{\"declined\": true}\n"
        "{\"refused\": \"arithmetic\", \"message\": \"division by zero\"}\n{\"value\": \"3\"}\n");
  CHECK(ran.err.empty());
  CHECK(ran.code == 0);
}

TEST_CASE("lines that are no JSON string, and the rest goes on") {
  const Ran ran = batch("1+1\n\n{\"a\": 1}\n\"1\" \"2\"\n\"open\n\"\\x\"\n\"2+2\"\n");
  CHECK(ran.out == std::string(kNoString) + kNoString + kNoString +
                       "{\"error\": \"something follows the JSON string\"}\n"
                       "{\"error\": \"a control character stands bare in the JSON string\"}\n"
                       "{\"error\": \"bad escape in the JSON string\"}\n{\"value\": \"4\"}\n");
  CHECK(ran.code == 0);
}

TEST_CASE("the last line needs no line feed, and nothing gives nothing") {
  CHECK(batch("\"1\"\n\"2+3\"").out == "{\"value\": \"1\"}\n{\"value\": \"5\"}\n");
  CHECK(batch("\"1\"\n").out == "{\"value\": \"1\"}\n");
  CHECK(batch("").out.empty());
  CHECK(batch("").code == 0);
}

TEST_CASE("a line as long as memory is refused in bounded memory") {
  const std::string nines = "\"" + std::string(900'000, '9') + "\"\n";
  CHECK(batch(nines).out ==
        "{\"refused\": \"length\", \"message\": \"expression is 900000 characters; the limit is "
        "200\"}\n");
  const auto little_memory = [] {
#if !defined(__SANITIZE_ADDRESS__)  // whose own memory counts
    const rlimit limit{std::size_t{24} << 20U, std::size_t{24} << 20U};
    ::setrlimit(RLIMIT_DATA, &limit);
#endif
  };
  const std::string long_line = "\"" + std::string(std::size_t{64} << 20U, '9') + "\"\n";
  const Ran ran =
      sandglass({"eval", "--batch"}, {"\"1\"\n" + long_line + "\"2\"\n", little_memory});
  CHECK(ran.out == std::string("{\"value\": \"1\"}\n") + kTooLong + "{\"value\": \"2\"}\n");
  CHECK(batch(std::string(std::size_t{2} << 20U, 'x')).out == kTooLong);
}

TEST_CASE("many lines come out one for one") {
  std::string input;
  std::string expected;
  for (int i = 0; i < 50'000; ++i) {
    input += "\"" + std::to_string(i) + " + 1\"\n";
    expected += "{\"value\": \"" + std::to_string(i + 1) + "\"}\n";
  }
  CHECK(batch(input).out == expected);
}

TEST_CASE("an answer comes before the next line is written") {
  Talk talk({"eval", "--batch"});
  talk.say("\"1+1\"\n");
  CHECK(talk.hear("\n") == "{\"value\": \"2\"}\n");
  talk.say("\"2");
  talk.say("+2\"\nx\n\"3");
  CHECK(talk.hear("}\n{\"error\": \"the line is not a JSON string\"}\n") ==
        std::string("{\"value\": \"4\"}\n") + kNoString);
  talk.say("\"");
  talk.hang_up();
  CHECK(talk.hear("\n") == "{\"value\": \"3\"}\n");
  CHECK(talk.wait() == 0);
}

TEST_CASE("a caller's non-blocking stdin is waited for") {
  Talk talk({"eval", "--batch"});
  talk.say("\"1\"\n");
  CHECK(talk.hear("\n") == "{\"value\": \"1\"}\n");
  talk.make_input_non_blocking();
  talk.say("\"2\"\n");
  CHECK(talk.hear("\n") == "{\"value\": \"2\"}\n");
  talk.say("\"3\"\n");
  CHECK(talk.hear("\n") == "{\"value\": \"3\"}\n");
  talk.hang_up();
  CHECK(talk.wait() == 0);
}

TEST_CASE("a reader that has gone ends it") {
  Talk talk({"eval", "--batch"});
  talk.stop_reading();
  talk.say("\"1\"\n");
  CHECK(talk.wait() == 128 + SIGPIPE);
}

TEST_CASE("output that cannot be written and input that cannot be read are our failure") {
  const Ran full =
      sandglass({"eval", "--batch"}, {"\"1\"\n", [] { ::dup2(::open("/dev/full", O_WRONLY), 1); }});
  CHECK(full.err == "sandglass: cannot write to stdout: ENOSPC; see whether there is room\n");
  CHECK(full.code == 125);
  const Ran folder =
      sandglass({"eval", "--batch"}, {"", [] { ::dup2(::open("/", O_RDONLY), STDIN_FILENO); }});
  CHECK(folder.err == "sandglass: cannot read stdin: EISDIR; give a file or a pipe\n");
  CHECK(folder.code == 125);
}
