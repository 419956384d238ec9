#include "runner/wire/events_json.h"

#include <catch2/catch.hpp>
#include <csignal>

#include "runner/wire/execution_document.h"
#include "tests/wire/golden.h"

using namespace runner;

namespace {

Finished timed_out() {
  Finished finished;
  finished.outcome.word = Word::kTimedOut;
  finished.outcome.exit_code = 124;
  finished.outcome.signal = SIGINT;
  finished.outcome.text = "it ran for longer than the wall-clock limit of 10s";
  finished.outcome.state_preserved = true;
  finished.outcome.limit = LimitHit{"wall_time", "10s", 10'000, 10'012, "ms"};
  finished.outcome.usage = {jail::Millis{10'012}, jail::Millis{9}, jail::mib(40),
                            jail::Enforcer::kCgroupV2};
  finished.denied = {{"socket", "AF_INET, SOCK_STREAM", 3, "network", "network = \"all\""}};
  File file{"cfile_1", "cntr_1", "/mnt/data/\xff\n", 3, 1'700'000'000, File::Source::kAssistant,
            "ab"};
  finished.files = {file};
  finished.skipped = {{"sub/pipe", "a FIFO"}};
  finished.results_dropped = 2;
  finished.expires_at = 1'700'001'200;
  return finished;
}

std::vector<ExecutionEvent> everything() {
  return {Begun{"exec_1", 7},
          Output{Output::To::kOut, "plain, caf\xc3\xa9 and \xf0\x9f"},
          Output{Output::To::kErr, "\xff warning\n"},
          Output{Output::To::kOut, "\x98\x80\n\xe2\x82"},
          Rich{true,
               {{"text/plain", "<Figure>"},
                {"image/png", "iVBORw0KGgo="},
                {"application/json", "{\"a\": 1e2}"},
                {"text/x-own", "\xfe"}}},
          Rich{false, {{"application/json", "{no json"}, {"image/svg+xml", "<svg/>"}}},
          Raised{"KeyboardInterrupt", "", "Traceback (most recent call last):\n"},
          timed_out()};
}

std::string transcript(wire::StreamForm form) {
  std::int64_t now = 1'700'000'000'000'000'000;
  wire::EventEncoder encoder(form, [&now] { return now += 1'000'000; });
  std::string text;
  for (const ExecutionEvent& event : everything()) text += encoder.encode(event);
  return text + encoder.keep_alive();
}

}  // namespace

TEST_CASE("a stream of lines") {
  wire_test::check_golden("stream.ndjson", transcript(wire::StreamForm::kLines));
}

TEST_CASE("a stream of server-sent events") {
  wire_test::check_golden("stream.sse", transcript(wire::StreamForm::kServerSent));
}

TEST_CASE("the same as one document") {
  wire::ExecutionDocument document;
  for (const ExecutionEvent& event : everything()) document.add(event);
  CHECK(document.is_finished());
  wire_test::check_golden("execution.json", document.text() + "\n");
}

TEST_CASE("a stream that a shutdown ends") {
  wire::EventEncoder encoder(wire::StreamForm::kLines, [] { return 1; });
  std::string text = encoder.encode(Begun{"exec_1", 1});
  text += encoder.encode(Output{Output::To::kOut, "half \xe2"});
  wire_test::check_golden("shutdown.ndjson", text + encoder.shutdown());
}

TEST_CASE("a document is bounded whatever the code does") {
  wire::ExecutionDocument document(jail::Bytes{100});
  for (int i = 0; i < 10; ++i) document.add(Output{Output::To::kOut, std::string(30, 'x')});
  document.add(Rich{false, {{"text/plain", std::string(200, 'y')}}});
  document.add(Finished{});
  const auto value = boost::json::parse(document.text());
  CHECK(value.at("stdout").as_string().size() == 100);
  CHECK(value.at("truncated").at("stdout") == true);
  CHECK(value.at("results_dropped") == 1);
}

TEST_CASE("a text cut at every place comes out whole") {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\xff\xc3(\xf0\x9f";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    wire::Utf8Stream stream;
    std::string all = stream.take(text.substr(0, cut));
    all += stream.take(text.substr(cut));
    CHECK(all + stream.rest() == text);
    CHECK(stream.rest().empty());
  }
}
