#include "runner/http/listen.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "tests/support/temp_dir.h"

using namespace runner::http;

TEST_CASE("addresses") {
  CHECK(parse_address("127.0.0.1:8611")->text() == "http://127.0.0.1:8611");
  CHECK(parse_address("localhost:1")->is_loopback);
  CHECK(parse_address("127.8.8.8:1")->is_loopback);
  CHECK(parse_address("[::1]:1")->is_loopback);
  CHECK(parse_address("[::1]:1")->text() == "http://[::1]:1");
  CHECK_FALSE(parse_address("0.0.0.0:1")->is_loopback);
  CHECK_FALSE(parse_address("[::]:1")->is_loopback);
  CHECK_FALSE(parse_address("[::ffff:127.0.0.1]:1")->is_loopback);  // the wary reading
  CHECK(parse_address("unix:/tmp/s")->text() == "unix:/tmp/s");
  for (const char* wrong : {"", "8611", ":8611", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000",
                            "127.0.0.1:1x", "example.com:80", "unix:", "256.0.0.1:1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_address(wrong));
  }
}

TEST_CASE("a port that is taken, and a free one") {
  auto address = *parse_address("127.0.0.1:0");
  const auto socket = listen_on(address);
  REQUIRE(socket);
  CHECK(address.port != 0);
  auto same = address;
  const auto again = listen_on(same);
  REQUIRE_FALSE(again);
  CHECK(again.error().text.find("EADDRINUSE") != std::string::npos);
}

TEST_CASE("what a dead server left behind is replaced, and nothing else") {
  const support::TempDir dir;
  auto address = *parse_address("unix:" + (dir / "s"));
  { REQUIRE(listen_on(address)); }  // closed, its file stays
  CHECK(std::filesystem::exists(address.host));
  const auto again = listen_on(address);
  REQUIRE(again);
  CHECK_FALSE(listen_on(address));
  auto file = *parse_address("unix:" + (dir / "file"));
  std::ofstream(file.host) << "precious";
  CHECK_FALSE(listen_on(file));
  CHECK(std::filesystem::file_size(file.host) == 8);
  auto deep = *parse_address("unix:" + std::string(200, 'a'));
  CHECK_FALSE(listen_on(deep));
}
