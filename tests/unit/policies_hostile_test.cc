// Texts that try to crash the reader. The only claim: an error with the file's name, or a policy.
#include <random>

#include "policies/explain.h"
#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

namespace {

std::string text_of(const std::string& name) {
  return read_file(std::string(POLICY_FOLDER) + '/' + name + ".toml").value();
}

void survives(const std::string& text) {
  const std::string error = parse_error(text);
  if (!error.empty()) REQUIRE(error.starts_with("p.toml:"));
}

}  // namespace

TEST_CASE("every truncation of each shipped policy is survived") {
  for (const std::string& name : shipped().names()) {
    const std::string text = text_of(name);
    for (std::size_t n = 0; n < text.size(); ++n) survives(text.substr(0, n));
  }
}

TEST_CASE("every truncation of the table of calls is survived") {
  const std::string text = text_of("syscalls");
  for (std::size_t n = 0; n < text.size(); n += 97) {
    const auto table = SyscallTable::read(text.substr(0, n), "s.toml");
    if (table) {
      const auto checked = table->check();
      if (!checked) REQUIRE(checked.error().text.starts_with("s.toml:"));
    }
  }
}

TEST_CASE("one changed byte anywhere is survived") {
  const std::string text = text_of("standard");
  for (const char c : {'\0', '"', '[', '{', '=', '\n', '\xff'})
    for (std::size_t n = 0; n < text.size(); n += 3) {
      std::string changed = text;
      changed[n] = c;
      survives(changed);
    }
}

TEST_CASE("garbage is survived") {
  std::mt19937 random(20240607);
  std::string garbage(std::size_t{1} << 20U, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  CHECK(parse_error(garbage).starts_with("p.toml:"));
  garbage.push_back('x');
  CHECK(parse_error(garbage) == "p.toml:1:1: the file has 1048577 bytes; the most is 1 MiB");
}

TEST_CASE("a NUL and invalid UTF-8 are refused with their place") {
  CHECK(parse_error(std::string("name = \"p\"\nwhy = \"a\0b\"\n", 23)).starts_with("p.toml:2:"));
  CHECK(parse_error("name = \"p\"\nwhy = \"\xff\xfe\"\n").starts_with("p.toml:2:"));
  CHECK(parse_error("name = \"p\"\nwhy = \"\\u0000\"\n") ==
        "p.toml:2:7: why: contains a control character");
}

TEST_CASE("deep nesting is refused before anything recurses") {
  const std::size_t deep = 500'000;
  const std::string refusal = " within each other; nothing here needs such nesting";
  CHECK(parse_error("a = " + std::string(deep, '[')) ==
        "p.toml:1:21: more than 16 brackets" + refusal);
  std::string tables = "name = \"p\"\nx = ";
  for (std::size_t i = 0; i < 50'000; ++i) tables += "{a=";
  CHECK(parse_error(tables) == "p.toml:2:53: more than 16 brackets" + refusal);
  std::string dots = "a";
  for (std::size_t i = 0; i < deep; ++i) dots += ".a";
  const std::string too_many = "a key with more than 8 dots; nothing here needs such nesting";
  CHECK(parse_error(dots + " = 1") == "p.toml:1:18: " + too_many);
  CHECK(parse_error("\n[" + dots + "]\n") == "p.toml:2:19: " + too_many);
  CHECK(parse_error("# " + std::string(deep, '[') + "\nname = \"" + std::string(20, '.') + "\"\n")
            .empty());
  CHECK(parse_error("name = '''\n" + std::string(50, '[') + "'''\n").empty());
}

TEST_CASE("ten thousand keys are survived") {
  std::string text = "name = \"p\"\n[unsafe]\n";
  for (int i = 0; i < 10'000; ++i) text += "k" + std::to_string(i) + " = \"x\"\n";
  survives(text);
  std::string list = "name = \"p\"\n[syscalls]\nallow = [";
  for (int i = 0; i < 10'000; ++i) list += "\"@base\",";
  CHECK(parse_error(list + "]\n") == "p.toml:3:9: syscalls.allow: has more than 1024 entries");
}

TEST_CASE("a FIFO or a folder is no policy and does not hang") {
  const Folder folder;
  const std::string path = folder.path() + "/f.toml";
  REQUIRE(::system(("mkfifo " + path).c_str()) == 0);
  CHECK(error_of(path) == path + ": is not a regular file");
  CHECK(error_of(folder.path() + "/") == folder.path() + "/: is not a regular file");
  CHECK(error_of(folder.path() + "/none.toml") ==
        folder.path() + "/none.toml: cannot be read: ENOENT");
}
