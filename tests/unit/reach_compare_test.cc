// Two subjects side by side: real surfaces, made-up rows.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "runner/reach/compare_json.h"
#include "runner/reach/compare_text.h"
#include "runner/reach/html.h"
#include "tests/unit/reach_rows.h"

namespace {

using namespace reach_test;

Surface surface_of(const std::string& name) {
  const auto library = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(library);
  const auto policy = library->find(name);
  REQUIRE(policy);
  auto surface = static_reach(*policy, library->syscalls());
  REQUIRE(surface);
  return *surface;
}

const Probe* kRead = made_up("f01", Category::kFiles, Layer::kMount);
const Probe* kFork = made_up("p01", Category::kProcesses, Layer::kSeccomp);
const Probe* kClock = made_up("i01", Category::kInformation, Layer::kNone);
const Probe* kOdd = made_up("k01", Category::kKernel, Layer::kSeccomp);
const Probe* kMissing = made_up("n01", Category::kNetwork, Layer::kNet);

Comparison tight_and_loose() {
  Side a{surface_of("tight"), Report{}};
  Side b{surface_of("loose"), Report{}};
  Row fork_a = row(kFork, Verdict::kBlocked);
  fork_a.why = Why{{Layer::kSeccomp, Layer::kRlimit}, {}};
  Row read_a = row(kRead, Verdict::kBlocked, "<b>ENOENT</b>");
  read_a.expected = Verdict::kBlocked;
  a.report->rows = {fork_a, read_a, row(kClock, Verdict::kReached),
                    row(kOdd, Verdict::kInconclusive), row(kMissing, Verdict::kBlocked)};
  b.report->rows = {row(kFork, Verdict::kReached), row(kRead, Verdict::kBlocked),
                    row(kClock, Verdict::kReached), row(kOdd, Verdict::kBlocked)};
  return compare(std::move(a), std::move(b));
}

const ProbePair& pair_of(const Comparison& comparison, const Probe* probe) {
  for (const ProbePair& pair : comparison.probes)
    if (pair.probe == probe) return pair;
  FAIL("no pair");
  return comparison.probes.front();
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a probe stands where both verdicts put it") {
  const Comparison c = tight_and_loose();
  CHECK(pair_of(c, kFork).standing == Standing::kOnlyB);
  CHECK(pair_of(c, kRead).standing == Standing::kNeither);
  CHECK(pair_of(c, kClock).standing == Standing::kBoth);
  // No answer is no verdict, and neither is a probe that one side did not run.
  CHECK(pair_of(c, kOdd).standing == Standing::kUnclear);
  CHECK(pair_of(c, kMissing).standing == Standing::kUnclear);
  const Tally probes = tally(c.probes);
  CHECK(probes.only_b == 1);
  CHECK(probes.only_a == 0);
  CHECK(probes.unclear == 2);
  CHECK(probes.all() == 5);
  CHECK(c.probes.front().probe == kRead);  // by category
}

TEST_CASE("what stopped a probe is said with where that is known from") {
  const Comparison c = tight_and_loose();
  CHECK(pair_of(c, kFork).stopped_a.evidence == Evidence::kAlone);
  CHECK(pair_of(c, kFork).stopped_a.layers == std::vector<Layer>{Layer::kSeccomp, Layer::kRlimit});
  CHECK(pair_of(c, kRead).stopped_a.evidence == Evidence::kExpected);
  // Nothing is declared for that side: the catalogue's layer would be a guess.
  CHECK(pair_of(c, kRead).stopped_b.evidence == Evidence::kNone);
  CHECK(pair_of(c, kClock).stopped_a.evidence == Evidence::kNone);
}

TEST_CASE("tight's system calls are a part of loose's") {
  const Tally calls = tally(tight_and_loose().calls);
  CHECK(calls.both == 50);
  CHECK(calls.only_a == 0);
  CHECK(calls.only_b == 214);
  CHECK(calls.unclear == 0);
}

TEST_CASE("the comparison as JSON") {
  const auto document = boost::json::parse(compare_json(tight_and_loose())).as_object();
  CHECK(document.at("a").at("subject") == "tight");
  CHECK(document.at("b").at("syscalls").at("reachable").to_number<int>() == 264);
  const auto& probes = document.at("probes").as_object();
  CHECK(probes.at("only_b") == boost::json::array{"p01"});
  CHECK(probes.at("rows").as_array().size() == 5);
  const auto& fork = probes.at("rows").as_array().at(1).as_object();
  CHECK(fork.at("id") == "p01");
  CHECK(fork.at("a").at("stopped_by") == boost::json::array{"seccomp", "rlimit"});
  CHECK(fork.at("a").at("evidence") == "alone");
  CHECK(fork.at("b").at("verdict") == "reached");
  CHECK(document.at("syscalls").at("only_b").as_array().size() == 214);
  CHECK_FALSE(document.at("differences").as_array().empty());
}

TEST_CASE("the comparison as text says what tight closes") {
  const std::string text = compare_text(tight_and_loose(), Colours::kOff);
  CHECK(compare_summary(tight_and_loose()) ==
        "tight stops 1 probe that gets through under loose, and closes 214 system calls that it "
        "leaves open. Nothing is open in tight alone. 2 probes have no answer from one side.");
  CHECK(text.find("try-p01") != std::string::npos);
  CHECK(text.find("seccomp, rlimit") != std::string::npos);
  CHECK(text.find("start a process (clone)") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(compare_text(tight_and_loose(), Colours::kOn).find('\x1b') != std::string::npos);
}

TEST_CASE("the text says which layers were tried, seen or only expected") {
  const std::string text = compare_text(tight_and_loose(), Colours::kOff);
  CHECK(text.find("seccomp, rlimit\n") != std::string::npos);
  Comparison c = tight_and_loose();
  for (ProbePair& pair : c.probes) pair.stopped_a = {{Layer::kMount}, Evidence::kSeen};
  CHECK(compare_text(c, Colours::kOff).find("mounts (seen)\n") != std::string::npos);
  for (ProbePair& pair : c.probes) pair.stopped_a = {{Layer::kMount}, Evidence::kExpected};
  const std::string expected = compare_text(c, Colours::kOff);
  CHECK(expected.find("mounts (expected)\n") != std::string::npos);
  CHECK(expected.find("(expected): the catalogue's word") != std::string::npos);
  CHECK(compare_html(c, {"0.1", "Linux", "2026"}).find("by mounts (expected)") !=
        std::string::npos);
}

TEST_CASE("what a sandbox says of itself is shown escaped, once") {
  Comparison c = tight_and_loose();
  c.b.surface.network = "\x1b]0;<i>\x07";
  c.b.surface.devices = {"\x1b[2J<b>\\"};
  const std::string text = compare_text(c, Colours::kOff);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\\x1b]0;<i>\\x07") != std::string::npos);
  CHECK(text.find("\\x1b[2J<b>\\\\\n") != std::string::npos);
  const std::string page = compare_html(c, {"0.1", "Linux", "2026"});
  CHECK(page.find('\x1b') == std::string::npos);
  CHECK(page.find("\\x1b[2J&lt;b&gt;\\\\<") != std::string::npos);
}

TEST_CASE("two of the same differ in nothing") {
  const Comparison c = compare({surface_of("tight"), {}}, {surface_of("tight"), {}});
  CHECK(tally(c.calls).both == 50);
  CHECK(tally(c.calls).only_b == 0);
  for (const auto& lines : {act_lines(c), other_lines(c), limit_lines(c)})
    for (const Line& line : lines) {
      INFO(line.name);
      CHECK_FALSE(line.differs());
    }
  CHECK(compare_summary(c) ==
        "Nothing is open in tight alone. No probe was run: this is read off the filters.");
}

TEST_CASE(
    "the page has each probe once, needs nothing from elsewhere and escapes what it is told") {
  const std::string page = compare_html(tight_and_loose(), {"0.1", "Linux 6.1", "2026-11-30"});
  for (const char* id : {"f01", "p01", "i01", "k01", "n01"}) {
    INFO(id);
    CHECK(occurrences(page, std::string("id=\"probe-") + id + "\"") == 1);
  }
  for (const char* outside : {"http:", "https:", "<script", "src=", "@import", "url("}) {
    INFO(outside);
    CHECK(page.find(outside) == std::string::npos);
  }
  CHECK(page.find("<b>ENOENT") == std::string::npos);
  CHECK(page.find("&lt;b&gt;ENOENT&lt;/b&gt;") != std::string::npos);
  CHECK(page.find("tries &lt;something&gt; &amp; says so") != std::string::npos);
  // Each system call and each probe is one cell.
  const std::size_t calls = tight_and_loose().calls.size();
  CHECK(occurrences(page, "<g><title>") == calls + 5);
  CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
  CHECK(page.find("@media print") != std::string::npos);
}
