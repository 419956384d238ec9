// Reports: what is counted, what makes the gate fail, and the three ways to tell it.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "runner/reach/report.h"

using namespace runner::reach;
namespace json = boost::json;

namespace {

Row row(const char* id, Verdict got, std::optional<Verdict> expected,
        std::optional<Verdict> control = Verdict::kReached) {
  Row row;
  row.probe = find_probe(id);
  REQUIRE(row.probe != nullptr);
  row.got = {got, "what <came> of it & \"so\"", got == Verdict::kBlocked ? 2 : 0};
  row.expected = expected;
  if (control) row.control = Observation{*control, "outside", 0};
  return row;
}

Report report(std::vector<Row> rows) {
  Report report;
  report.subject = "tight";
  report.mode = "exec";
  report.rows = std::move(rows);
  report.elapsed = std::chrono::milliseconds(1234);
  return report;
}

constexpr Verdict kB = Verdict::kBlocked;
constexpr Verdict kR = Verdict::kReached;
constexpr Verdict kI = Verdict::kInconclusive;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a hole, a difference and a probe without an answer fail the gate") {
  CHECK(exit_code(report({row("f01", kB, kB), row("p27", kR, kR)})) == 0);
  CHECK(exit_code(report({row("f01", kB, kB), row("f02", kR, kB)})) == 1);
  CHECK(exit_code(report({row("p27", kB, kR)})) == 1);
  CHECK(exit_code(report({row("f01", kI, kB)})) == 1);
  CHECK(exit_code(report({row("f01", kI, std::nullopt)})) == 1);
  CHECK(exit_code(report({row("f01", kI, kI)})) == 0);
  CHECK(exit_code(report({row("f01", kR, std::nullopt)})) == 0);
}

TEST_CASE("what the host itself stops is no fault of a policy that allows it") {
  CHECK(exit_code(report({row("k19", kB, kR, kB)})) == 0);
  CHECK(exit_code(report({row("k19", kB, kR, kI)})) == 1);
  CHECK(exit_code(report({row("k19", kB, kR, std::nullopt)})) == 1);
  CHECK(exit_code(report({row("k19", kR, kB, kB)})) == 1);
}

TEST_CASE("counts") {
  const Counts counts = count(report({row("f01", kB, kB), row("f13", kB, kB, kB),
                                      row("f02", kR, kB), row("p27", kR, kR), row("f03", kI, kB)}));
  CHECK(counts.blocked == 2);
  CHECK(counts.reached == 2);
  CHECK(counts.inconclusive == 1);
  CHECK(counts.holes == 1);
  CHECK(counts.wrong == 2);
  CHECK(counts.unproven == 1);
}

TEST_CASE("JSON says all that is known of a probe") {
  Row with_why = row("k05", kB, kB);
  with_why.seen = {Layer::kSeccomp};
  with_why.why = Why{{Layer::kSeccomp}, {Layer::kLandlock}, true};
  const json::value value = json::parse(report_json(report({with_why, row("f02", kR, kB, kB)})));
  CHECK(value.at("subject") == "tight");
  CHECK(value.at("mode") == "exec");
  CHECK(value.at("elapsed_ms") == 1234);
  CHECK(value.at("summary").at("holes") == 1);
  CHECK(value.at("summary").at("not_as_expected") == 1);
  const json::object& first = value.at("probes").as_array()[0].as_object();
  CHECK(first.at("id") == "k05");
  CHECK(first.at("name") == "io-uring");
  CHECK(first.at("category") == "kernel");
  CHECK(first.at("verdict") == "blocked");
  CHECK(first.at("errno") == "ENOENT");
  CHECK(first.at("expected") == "blocked");
  CHECK(first.at("as_expected") == true);
  CHECK(first.at("proven") == true);
  CHECK(first.at("layers_seen") == json::array{"seccomp"});
  CHECK(first.at("why").at("stopped_by") == json::array{"seccomp"});
  CHECK(first.at("why").at("layers") == 1);
  CHECK(first.at("why").at("untried") == json::array{"Landlock"});
  CHECK(first.at("why").at("confirmed") == true);
  const json::object& second = value.at("probes").as_array()[1].as_object();
  CHECK(second.at("as_expected") == false);
  CHECK(second.at("proven") == false);
  CHECK_FALSE(second.contains("why"));
  CHECK_FALSE(second.contains("errno"));
}

TEST_CASE("JUnit: a case for each, a failure for what is wrong, well-formed") {
  const std::string xml = report_junit(report({row("f01", kB, kB), row("f02", kR, kB)}));
  CHECK(contains(xml,
                 "<testsuite name=\"sandglass probe tight exec\" tests=\"2\" failures=\"1\" "
                 "errors=\"0\" time=\"1.2\">"));
  CHECK(contains(xml, "<testcase classname=\"sandglass.tight.files\" name=\"f01 read-by-path\"/>"));
  CHECK(contains(xml,
                 "<failure message=\"reached, expected blocked\">what &lt;came&gt; of it &amp; "
                 "&quot;so&quot;; it "));
  CHECK(xml.ends_with("</testsuite>\n"));
}

TEST_CASE(
    "JUnit: a probe without an answer is an error where nothing is declared, as for the exit") {
  const Report silent = report({row("f01", kI, std::nullopt), row("f02", kR, std::nullopt)});
  CHECK(exit_code(silent) == 1);
  const std::string xml = report_junit(silent);
  CHECK(contains(xml, "tests=\"2\" failures=\"0\" errors=\"1\""));
  CHECK(
      contains(xml, "name=\"f01 read-by-path\">\n    <error message=\"no answer\">what &lt;came"));
  Report hostile = report({row("f01", kR, kB)});
  hostile.subject = "a\"<b>&\x1b[31m\xef\xbf\xbe";
  CHECK(contains(report_junit(hostile),
                 "name=\"sandglass probe a&quot;&lt;b&gt;&amp;\\x1b[31m\\ufffe "));
}

TEST_CASE("a layer is named with where that is known from") {
  Row seen = row("k05", kB, kB);
  seen.seen = {Layer::kSeccomp};
  Row alone = row("f01", kB, kB);
  alone.why = Why{{Layer::kMount, Layer::kLandlock}, {}, true};
  Row together = row("f02", kB, kB);
  together.why = Why{{}, {}, false, true};
  const Report all = report({alone, together, row("f03", kB, kB), seen, row("p27", kR, kR),
                             row("f04", kB, std::nullopt)});
  const json::value value = json::parse(report_json(all));
  const auto& rows = value.at("probes").as_array();
  CHECK(rows[0].at("evidence") == "alone");
  CHECK(rows[0].at("stopped_by") == json::array{"mounts", "Landlock"});
  CHECK(rows[1].at("evidence") == "alone");
  CHECK(rows[1].at("stopped_by").as_array().empty());
  CHECK(rows[2].at("evidence") == "expected");
  CHECK(rows[2].at("stopped_by") == json::array{"mounts"});
  CHECK(rows[3].at("evidence") == "seen");
  CHECK(rows[3].at("stopped_by") == json::array{"seccomp"});
  CHECK_FALSE(rows[4].as_object().contains("evidence"));  // reached
  CHECK_FALSE(rows[5].as_object().contains("evidence"));  // nothing is declared
  const std::string text = report_text(all, Colours::kOff);
  CHECK(contains(text, "(ENOENT)  [2 layers, each alone: mounts, Landlock]"));
  CHECK(contains(text, "[by no layer alone, by several]"));
  CHECK(contains(text, "[expected: mounts]"));
  CHECK(contains(text, "[seen: seccomp]"));
  CHECK(contains(text, "--why tries each layer alone"));
  CHECK_FALSE(contains(report_text(report({alone}), Colours::kOff), "--why tries"));
}

TEST_CASE("a control without an answer is not said to have been stopped") {
  const std::string text = report_text(report({row("f01", kB, kB, kI)}), Colours::kOff);
  CHECK(contains(text, "did not get through either, or gave no answer"));
}

TEST_CASE("text names what is wrong, and how deep the defence is") {
  Row deep = row("f01", kB, kB);
  deep.why = Why{{Layer::kMount, Layer::kLandlock}, {}, true};
  const std::string text =
      report_text(report({deep, row("f02", kR, kB), row("f13", kB, kB, kB)}), Colours::kOff);
  CHECK(contains(text, "[2 layers, each alone: mounts, Landlock]"));
  Row open = row("f02", kB, kB);
  open.why = Why{{Layer::kSeccomp}, {Layer::kMount}, false, true};
  const std::string unsure = report_text(report({open}), Colours::kOff);
  CHECK(contains(unsure, "[1 layer: seccomp; without these, others together]"));
  CHECK(contains(unsure, "not tried alone: mounts, for 1 probe\n"));
  CHECK(contains(text, "f02 read-by-proc-root is reached, expected: blocked"));
  CHECK(contains(text, "[unproven: without a sandbox blocked too]"));
  CHECK(contains(text, "tight, by exec: 3 probes in 1.2s; 2 blocked, 1 reached, 0 inconclusive"));
  CHECK(contains(text, "1 reached that must be blocked"));
  CHECK_FALSE(contains(text, "\033"));
  CHECK(contains(report_text(report({row("f01", kB, kB)}), Colours::kOn), "\033[32m"));
  CHECK(contains(report_text(report({row("f01", kB, kB)}), Colours::kOff), "all as expected"));
}
