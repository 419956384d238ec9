// What must hold of every probe in the catalogue.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "runner/reach/probe.h"

using namespace runner::reach;

namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// What a stricter policy lets through, a looser one lets through as well.
bool only_grows(const Expected& e) {
  const bool tight = e.tight == Verdict::kReached;
  const bool standard = e.standard == Verdict::kReached;
  const bool loose = e.loose == Verdict::kReached;
  return (!tight || standard) && (!standard || loose);
}

bool is_open_everywhere(const Expected& e) { return e.tight == Verdict::kReached; }

}  // namespace

TEST_CASE("every probe says what it tries, whose case it is, and what is expected") {
  std::set<std::string_view> ids;
  std::set<std::string_view> names;
  for (const Probe& probe : catalogue()) {
    INFO(probe.id << " " << probe.name);
    CHECK(ids.insert(probe.id).second);
    CHECK(names.insert(probe.name).second);
    CHECK(is_word(probe.id));
    CHECK(probe.id.size() == 3);
    CHECK(is_word(probe.name));
    CHECK(probe.name.size() <= 24);  // a column of the report
    CHECK(probe.tries.size() > 5);
    CHECK(probe.tries.back() != '.');
    CHECK(probe.source.size() > 5);
    CHECK((probe.by == By::kPython) == !probe.code.empty());
    CHECK(only_grows(probe.expected));
    CHECK((probe.stopped_by == Layer::kNone) == is_open_everywhere(probe.expected));
    if (probe.sampled) CHECK(only_grows(*probe.sampled));
  }
  CHECK(ids.size() >= 120);
}

TEST_CASE("every category has probes, and its letters are its own") {
  std::map<char, Category> letters;
  std::map<Category, int> counts;
  for (const Probe& probe : catalogue()) {
    const auto [known, is_new] = letters.emplace(probe.id[0], probe.category);
    INFO(probe.id);
    CHECK(known->second == probe.category);
    ++counts[probe.category];
  }
  for (const Category category : kCategories) {
    INFO(category_text(category));
    CHECK(counts[category] >= 10);
    CHECK(category_of(category_text(category)) == category);
  }
  CHECK_FALSE(category_of("file").has_value());
}

TEST_CASE("a probe is found by its id and by its name") {
  REQUIRE(find_probe("f01") != nullptr);
  CHECK(find_probe("read-by-path") == find_probe("f01"));
  CHECK(find_probe("f1") == nullptr);
  CHECK(find_probe("") == nullptr);
}

TEST_CASE("what is expected goes by policy, mode and who counts the memory") {
  const Probe& channel = *find_probe("c21");
  CHECK(expected_under(channel, "tight") == Verdict::kBlocked);
  CHECK(expected_under(channel, "tight", "join") == Verdict::kReached);
  const Probe& segments = *find_probe("r22");
  CHECK(expected_under(segments, "loose") == Verdict::kBlocked);
  CHECK(expected_under(segments, "loose", "exec", Memory::kSampled) == Verdict::kReached);
  CHECK(expected_under(segments, "standard", "exec", Memory::kSampled) == Verdict::kBlocked);
  CHECK(expected_under(*find_probe("n08"), "standard") == Verdict::kBlocked);
  CHECK(expected_under(*find_probe("n08"), "loose") == Verdict::kReached);
  CHECK_FALSE(expected_under(channel, "my-own").has_value());
}

// The boundary to the host is the same in all three: only these open where a policy is looser.
TEST_CASE("what lies outside is out of reach under every policy") {
  for (const char* id : {"f01", "f02", "f03", "f04", "f05", "f06", "f07", "f08", "f09", "f10",
                         "f11", "f12", "p01", "p02", "p03", "p04", "p06", "p10", "p12", "p20",
                         "k01", "k05", "k06", "k07", "k13", "k31", "k47", "n01", "n02", "n03",
                         "n05", "n06", "n15", "r01", "r03", "i01", "i16", "c02", "h01", "h05"}) {
    INFO(id);
    const Probe* probe = find_probe(id);
    REQUIRE(probe != nullptr);
    CHECK(probe->expected.loose == Verdict::kBlocked);
  }
}
