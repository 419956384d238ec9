// Records: what is written comes back, whatever bytes it holds; and what they look like to people.
#include <sha256.h>

#include <array>
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "runner/replay/compare.h"
#include "runner/text.h"
#include "runner/trace/digest.h"
#include "runner/trace/markdown.h"
#include "runner/trace/notebook.h"
#include "runner/trace/page.h"
#include "runner/trace/record.h"

using namespace runner;
using namespace runner::trace;

namespace {

Traced traced(const std::string& text) { return {text, text.size(), sha256(text)}; }

Record sample() {
  Record record;
  record.id = "exec_1";
  record.time_us = 1'796'001'042'123'456;
  record.session = "cntr_1";
  record.owner = "0123456789abcdef";
  record.seq = 7;
  record.ending = Ending::kFailure;
  record.outcome = "raised";
  record.text = "why \"so\"";
  record.title = "caf\xC3\xA9";
  record.language = "python";
  record.code = "print('\\\t\x01\x7f')\n";
  record.policy = {"standard", "ab", 1U << 30U};
  record.input = "a\nb";
  record.timeout_ms = 5000;
  record.inputs = {{"/mnt/data/\xFF", "cd", 3}};
  record.number = 4;
  record.out = traced(std::string("\0\xFE ok\n", 6));
  record.err = {"cut", 100'000, sha256("all")};
  record.out_truncated = true;
  record.results = {{true, {{"text/plain", traced("1")}, {"image/png", traced("iVBORw0KGgo=")}}},
                    {false, {{"text/html", traced("<b>")}}}};
  record.results_dropped = 2;
  record.error = TracedError{"ValueError", "\xC0", "Traceback\n  line\n"};
  record.exit_code = 1;
  record.state_preserved = true;
  record.outputs = {{"/mnt/data/out", "", 1ULL << 40U}};
  record.usage = {jail::Millis(12), jail::Millis(3), jail::Bytes{4096}, jail::Enforcer::kRlimit};
  record.denied = {{"socket", "AF_INET", 3, "inet", "[syscalls] allow = [\"@inet\"]"}};
  return record;
}

}  // namespace

TEST_CASE("a record comes back as it was written") {
  const Record record = sample();
  const std::string line = to_line(record);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(is_utf8(line));
  const auto back = record_of(line);
  REQUIRE(back.has_value());
  CHECK(to_line(*back) == line);
  CHECK(back->out.text == record.out.text);
  CHECK(back->inputs.at(0).path == record.inputs.at(0).path);
  CHECK(back->error->value == "\xC0");
  CHECK(back->time_us == record.time_us);
  CHECK(back->ending == Ending::kFailure);
  CHECK(boost::json::parse(line).at("decided_by") == "code");
}

TEST_CASE("a line's head is read without a parser") {
  const std::string line = to_line(sample());
  const auto head = head_of(line);
  REQUIRE(head.has_value());
  CHECK(head->id == "exec_1");
  CHECK(head->session == "cntr_1");
  CHECK(head->owner == "0123456789abcdef");
  CHECK(head->seq == 7);
  for (std::size_t cut = 0; cut < line.size(); ++cut)
    CHECK_FALSE((head_of(line.substr(0, cut)) && record_of(line.substr(0, cut))));
}

TEST_CASE("what is no record is refused, by its first fault") {
  const auto fault = [](const std::string& line) { return record_of(line).error().text; };
  CHECK(fault("") == "this is no line of a trace: incomplete JSON");
  CHECK(fault("[]") == "this is no line of a trace: it is not a JSON object");
  CHECK(fault("{}") == "this is no line of a trace: \"time\" is missing or makes no sense");
  boost::json::object object = boost::json::parse(to_line(sample())).as_object();
  const auto with = [&](const char* name, const boost::json::value& value) {
    boost::json::object changed = object;
    changed[name] = value;
    return fault(boost::json::serialize(changed));
  };
  for (const char* name : {"id", "time", "kind", "ending", "code", "inputs", "stdout", "results",
                           "error", "usage", "denied", "policy", "seq"})
    CHECK(with(name, true).find('"' + std::string(name) + '"') != std::string::npos);
  CHECK(with("kind", "other").find("\"kind\"") != std::string::npos);
  CHECK(with("time", "yesterday").find("\"time\"") != std::string::npos);
}

TEST_CASE("a decline is the model's") {
  Record record = sample();
  record.kind = Kind::kEvaluate;
  record.ending = Ending::kDecline;
  const auto line = boost::json::parse(to_line(record));
  CHECK(line.at("decided_by") == "model");
  CHECK(line.at("ending") == "decline");
}

TEST_CASE("the digest is SHA-256, in pieces too") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Digest digest;
  digest.add("a");
  digest.add("");
  digest.add("bc");
  CHECK(digest.hex() == sha256("abc"));
  // Where the length still fits into the last block, and where it does not.
  for (const auto& [length, hash] : {
           std::pair{55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
           std::pair{56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
           std::pair{63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
           std::pair{64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
           std::pair{119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
           std::pair{120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
       })
    CHECK(sha256(std::string(static_cast<std::size_t>(length), 'a')) == hash);
}

TEST_CASE("a time is told in UTC, to the microsecond") {
  CHECK(time_text(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(time_text(951'827'696'000'001) == "2000-02-29T12:34:56.000001Z");
  CHECK(time_text(1'796'001'866'281'213) == "2026-11-30T01:24:26.281213Z");
  CHECK(time_text(4'102'444'799'999'999) == "2099-12-31T23:59:59.999999Z");
}

TEST_CASE("the first difference is named") {
  const Record a = sample();
  const auto first = [&](const Record& b) {
    const auto all = replay::compare(a, b);
    return all.empty() ? "" : replay::text_of(all.front());
  };
  CHECK(first(sample()).empty());
  Record b = sample();
  b.out = traced(std::string("\0\xFE oh\n", 6));
  CHECK(first(b) == R"(stdout, line 1: "\x00\xfe ok" was recorded, now it is "\x00\xfe oh")");
  b = sample();
  b.err = {"cut", 100'000, sha256("other")};
  CHECK(first(b).starts_with("stderr, behind its first 3 bytes: \"100000 bytes, sha256 "));
  b = sample();
  b.results[0].data["image/png"] = traced("x");
  CHECK(first(b).starts_with("result 1 as image/png: \"sha256 "));
  b = sample();
  b.results.pop_back();
  CHECK(first(b) == R"(the number of results: "2" was recorded, now it is "1")");
  b = sample();
  b.error->value = "else";
  CHECK(first(b).starts_with("the error's value: "));
  b = sample();
  b.outputs.clear();
  CHECK(first(b).starts_with("the file /mnt/data/out: \"1099511627776 bytes\" was recorded"));
  b = sample();
  b.outcome = "ok";
  CHECK(first(b) == R"(the outcome: "raised" was recorded, now it is "ok")");
  b = sample();
  b.usage = {};
  b.denied.clear();
  b.error->traceback = "another";
  CHECK(first(b).empty());
}

TEST_CASE("a notebook holds outputs in place, and a page's fences cannot be closed from inside") {
  Record file;
  file.id = "cfile_1";
  file.kind = Kind::kUpload;
  file.seq = 1;
  file.inputs = {{"/mnt/data/<in>`", "cd", 3}};
  Record run = sample();
  run.out = traced("```\n````\n# heading\n");
  const auto notebook = boost::json::parse(to_notebook({file, run}, 0));
  CHECK(notebook.at("nbformat") == 4);
  const auto& cells = notebook.at("cells").as_array();
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].at("cell_type") == "markdown");
  CHECK(cells[0].at("source") == "Put in:\n- /mnt/data/\\<in\\>\\`, 3 bytes, sha256 `cd`");
  const auto& outputs = cells[1].at("outputs").as_array();
  REQUIRE(outputs.size() == 5);
  CHECK(outputs[0].at("text") == "```\n````\n# heading\n");
  CHECK(outputs[2].at("data").at("image/png") == "iVBORw0KGgo=");
  CHECK(outputs[2].at("execution_count") == 4);
  CHECK(outputs[3].at("output_type") == "display_data");
  CHECK(outputs[4].at("ename") == "ValueError");
  const std::string page = to_page({file, run}, 0);
  CHECK(page.find("`````\n```\n````\n# heading\n`````\n") != std::string::npos);
  CHECK(page.find("/mnt/data/\\<in\\>\\`") != std::string::npos);
  CHECK(page.find("![picture](data:image/png;base64,iVBORw0KGgo=)") != std::string::npos);
  run.results[0].data["image/png"] = traced("x) <script>");
  CHECK(to_page({run}, 0).find("<script>") == std::string::npos);
}

TEST_CASE("what could not be read is told of, in a notebook and on a page") {
  constexpr const char* kTwo =
      "2 records of this session can't be read by this version and are left out; without `format` "
      "they are shown as they stand.\n";
  const auto notebook = boost::json::parse(to_notebook({sample()}, 2));
  CHECK(notebook.at("cells").as_array().size() == 2);
  CHECK(notebook.at("cells").as_array().back().at("source") == kTwo);
  CHECK(to_page({sample()}, 2).ends_with(kTwo));
  CHECK(to_page({}, 2) == kTwo);
  CHECK(
      to_page({}, 1).starts_with("1 record of this session can't be read by this version and is "));
  CHECK(to_page({}, 0) == "# Nothing was run\n");
}

TEST_CASE("foreign text in Markdown is shown, and nothing acts upon it") {
  CHECK(plain("a`b <i> $x$ ~~y~~ @all http://h/ www.h") ==
        "a\\`b \\<i\\> \\$x\\$ \\~\\~y\\~\\~ \\@all http\\://h/ www\\.h");
  CHECK(plain("[x](y)") == "\\[x\\](y)");
  CHECK(fenced("python", "a```b") == "````python\na```b\n````\n\n");
  CHECK(fenced("x\n# y", "1\n") == "```\n1\n```\n\n");
  // A terminal that shows the page is given no orders.
  CHECK(fenced("", "\x1b[2J\r\n\x07\tok\x7f\xc2\x9b") ==
        "```\n\xe2\x90\x9b[2J\n\xe2\x90\x87\tok\xe2\x90\xa1\xef\xbf\xbd\n```\n\n");
}

TEST_CASE("SHA-256 in pieces of any size, by the processor's instructions or without") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::string bytes;
  for (std::uint32_t i = 0, x = 1; i < 700; ++i, x = x * 1664525 + 1013904223)
    bytes += static_cast<char>(x >> 24U);
  for (std::size_t size = 0; size <= bytes.size(); size += 7) {
    std::array<std::uint8_t, SHA256_DIGEST_LENGTH> plainly{};
    SHA2_CTX context;
    ::SHA256Init(&context);
    ::SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), size);
    ::SHA256Final(plainly.data(), &context);
    for (const std::size_t piece : {1U, 63U, 64U, 65U, 200U}) {
      Digest digest;
      for (std::size_t at = 0; at < size; at += piece)
        digest.add(std::string_view(bytes).substr(at, std::min<std::size_t>(piece, size - at)));
      REQUIRE(digest.hex() == runner::hex_text(plainly));
    }
  }
}
