// A file of settings: what it may hold, and what a wrong one is told.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "policies/settings.h"
#include "tests/support/temp_dir.h"

using policies::Setting;

namespace {

policies::Result<std::vector<Setting>> read(const std::string& text) {
  const support::TempDir folder;
  std::ofstream(folder / "s.toml", std::ios::binary) << text;
  auto settings = policies::read_settings(folder / "s.toml");
  const std::string prefix = folder.path().string() + '/';
  if (!settings) settings.error().text.replace(0, prefix.size(), "");
  return settings;
}

std::string error(const std::string& text) {
  const auto settings = read(text);
  return settings ? "" : settings.error().text;
}

}  // namespace

TEST_CASE("settings are the names of options, with their places") {
  const auto settings = read(
      "listen = \"127.0.0.1:0\"\nallow_host = [\"a\", \"b\"]\n\n[trace]\nsize = \"64M\"\nsync = "
      "false\nfiles = 8\n");
  REQUIRE(settings);
  std::map<std::string, Setting> by_name;
  for (const Setting& setting : *settings) by_name[setting.name] = setting;
  REQUIRE(by_name.size() == 5);
  CHECK(by_name["listen"].values == std::vector<std::string>{"127.0.0.1:0"});
  CHECK(by_name["allow-host"].kind == Setting::Kind::kList);
  CHECK(by_name["allow-host"].values == std::vector<std::string>{"a", "b"});
  CHECK(by_name["trace-size"].values == std::vector<std::string>{"64M"});
  CHECK(by_name["trace-size"].place.ends_with("s.toml:5:1: trace.size"));
  CHECK(by_name["trace-sync"].kind == Setting::Kind::kSwitch);
  CHECK(by_name["trace-sync"].values == std::vector<std::string>{"false"});
  CHECK(by_name["trace-files"].values == std::vector<std::string>{"8"});
}

TEST_CASE("wrong settings are told where and why") {
  CHECK(error("a = 1.5") == "s.toml:1:5: a: is a fraction; it must be a string in quotes");
  CHECK(error("a = \"\"") == "s.toml:1:5: a: is empty");
  CHECK(error("a = [1]") == "s.toml:1:6: a[0]: is a whole number; it must be a string in quotes");
  CHECK(error("a = 1\na = 2").starts_with("s.toml:2:"));
  CHECK(error("a = \"x\\ny\"") == "s.toml:1:5: a: contains a control character");
  CHECK(error("nonsense").starts_with("s.toml:1:"));
  CHECK_FALSE(policies::read_settings("/nowhere/s.toml").has_value());
}
