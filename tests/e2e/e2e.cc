#include "tests/e2e/e2e.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

namespace e2e {

namespace fs = std::filesystem;
namespace json = boost::json;

Ran run(const Call& call, std::chrono::milliseconds bound) {
  const support::Leftovers leftovers;
  Ran ran = support::run_binary(call);
  CHECK(ran.wall < bound);
  CHECK(leftovers.found() == "");
  return ran;
}

Ran run(const Words& args) {
  Call call;
  call.args = args;
  return run(call);
}

Words payload(const Words& options, const Words& command) {
  Words args = {"exec", "--ro-bind", support::public_path(support::payloads_path()) + ":/payloads"};
  args.insert(args.end(), options.begin(), options.end());
  args.emplace_back("--");
  args.push_back("/payloads/" + command.front());
  args.insert(args.end(), command.begin() + 1, command.end());
  return args;
}

json::object document(const Ran& ran) {
  INFO("stdout: " << ran.out.substr(0, 2000) << "\nstderr: " << ran.err);
  REQUIRE_FALSE(ran.out.empty());
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 1);
  CHECK(ran.out.back() == '\n');
  boost::system::error_code error;
  json::value value = json::parse(ran.out, error);
  REQUIRE_FALSE(error);
  REQUIRE(value.is_object());
  return value.as_object();
}

json::object report(const Words& args) { return document(run(args)); }

std::string text(const json::object& object, const char* key) {
  INFO(key);
  REQUIRE(object.contains(key));
  const json::value& value = object.at(key);
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

std::string line(const Ran& ran) {
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  return ran.err.substr(0, ran.err.find('\n'));
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "?";
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  REQUIRE(file << text << std::flush);
}

Words tree(const std::string& folder) {
  Words names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    names.push_back(entry.is_directory() && !entry.is_symlink() ? name + "/" : name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool has_outside(pid_t pid) {
  const std::string mine = "sandglass-probe-" + std::to_string(pid) + "-";
  for (const char* folder : {"/var/tmp", "/tmp"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename().string().starts_with(mine)) return true;
  return false;
}

bool comes_to_outside(pid_t pid) {
  for (int i = 0; i < 2000 && !has_outside(pid); ++i) ::usleep(10'000);
  return has_outside(pid);
}

void install(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path built = fs::path(support::sandglass_path()).parent_path().parent_path();
  const fs::path to = folder;
  for (const char* name : {"bin", "lib", "share/sandglass"}) fs::create_directories(to / name);
  for (const char* program : {"sandglass", "sandglass-spawner"})
    fs::copy_file(built / "bin" / program, to / "bin" / program);
  fs::copy(built / "lib/sandglass", to / "lib/sandglass", fs::copy_options::recursive);
  fs::copy(built / "share/sandglass/policies", to / "share/sandglass/policies",
           fs::copy_options::recursive);
}

void require_jails() {
  support::require(support::Feature::kUserNamespaces);
  support::require(support::Feature::kSeccompNotify);
}

}  // namespace e2e
