#include "runner/http/tokens.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/temp_dir.h"

using runner::http::Tokens;

TEST_CASE("tokens with names and without") {
  const auto tokens = Tokens::parse("# who\n\n alice : aaaaaaaaaaaaaaaa \r\nbbbbbbbbbbbbbbbbb=\n");
  REQUIRE(tokens);
  CHECK(tokens->are_required());
  CHECK(tokens->tenant_of("Bearer aaaaaaaaaaaaaaaa") == "alice");
  CHECK(tokens->tenant_of("BEARER  aaaaaaaaaaaaaaaa ") == "alice");
  const auto bare = tokens->tenant_of("Bearer bbbbbbbbbbbbbbbbb=");
  REQUIRE(bare);
  CHECK(bare->starts_with("token-"));
  CHECK(bare->find("bbbb") == std::string::npos);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa",
                            "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Bearer baaaaaaaaaaaaaaa",
                            "Basic aaaaaaaaaaaaaaaa", "Bearer bbbbbbbbbbbbbbbbb"}) {
    CAPTURE(wrong);
    CHECK_FALSE(tokens->tenant_of(wrong));
  }
}

TEST_CASE("a token file that is wrong is refused by line, without its text") {
  for (const char* wrong :
       {"", "# nothing\n", "short\n", "a:short\n", ":aaaaaaaaaaaaaaaa\n", "aaaaaaaa aaaaaaaa\n",
        "x:aaaaaaaaaaaaaaaa\nx:bbbbbbbbbbbbbbbb\n", "x:aaaaaaaaaaaaaaaa\ny:aaaaaaaaaaaaaaaa\n"}) {
    CAPTURE(wrong);
    const auto tokens = Tokens::parse(wrong);
    REQUIRE_FALSE(tokens);
    CHECK(tokens.error().text.find("aaaa") == std::string::npos);
    CHECK(tokens.error().text.find("token file") == 0);
  }
}

TEST_CASE("a token file that everybody can read is refused") {
  const support::TempDir dir;
  const std::string path = dir / "tokens";
  std::ofstream(path) << "alice:aaaaaaaaaaaaaaaa\n";
  ::chmod(path.c_str(), 0644);
  const auto open = Tokens::read(path);
  REQUIRE_FALSE(open);
  CHECK(open.error().text.find("chmod 600") != std::string::npos);
  ::chmod(path.c_str(), 0600);
  CHECK(Tokens::read(path));
  CHECK_FALSE(Tokens::read(dir / "missing"));
  CHECK_FALSE(Tokens::read("/dev/zero"));
}
