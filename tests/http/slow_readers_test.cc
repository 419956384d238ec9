// Clients that take large replies slowly, or not at all: all of them together hold no more memory
// than is set, and who reads gets everything.
#include <catch2/catch.hpp>

#include "tests/http/server_under_test.h"

using namespace http_test;
using std::chrono::hours;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kFile = std::size_t{6} << 20U;       // more than sockets take by themselves
constexpr std::uint64_t kRoom = std::uint64_t{16} << 20U;  // for two files

struct Downloads {
  explicit Downloads(milliseconds patience)
      : server([&](runner::http::ServerOptions& options) {
          options.reply_memory = jail::Bytes{kRoom};
          options.timeouts.make_room = patience;
          options.tokens = *runner::http::Tokens::parse(
              "alice:aaaaaaaaaaaaaaaaaaaa\nbob:bbbbbbbbbbbbbbbbbbbb\n");
        }) {
    server.on_loop([&] { server.service.largest_file = jail::Bytes{kFile}; });
  }

  static std::string token(char whose) {
    return "Authorization: Bearer " + std::string(20, whose) + "\r\n";
  }
  // Puts a file in, and asks for it. Nothing of it is read yet.
  Client ask(char whose) {
    Client client = server.client();
    const std::string id = make_container(client, token(whose));
    const Response put =
        client.call("POST", "/v1/containers/" + id + "/files?name=a", std::string(kFile, whose),
                    token(whose) + "Content-Type: application/octet-stream\r\n");
    REQUIRE(put.status == 200);
    Client slow = server.client();
    slow.send("GET /v1/containers/" + id + "/files/" +
              std::string(put.json().at("id").as_string()) +
              "/content HTTP/1.1\r\nHost: localhost\r\n" + token(whose) + "\r\n");
    return slow;
  }
  // How many replies have begun: they wait for their clients.
  void wait_for_waiting(std::uint64_t files) {
    REQUIRE(server.eventually([&] { return server.metrics.bytes_waiting >= files * kFile; }));
    CHECK(server.ask<std::uint64_t>([&] { return server.metrics.bytes_waiting; }) <= kRoom);
  }
  void wait_for_cut(std::uint64_t replies) {
    REQUIRE(server.eventually([&] { return server.metrics.replies_cut == replies; }));
  }
  std::uint64_t cut() {
    return server.ask<std::uint64_t>([&] { return server.metrics.replies_cut; });
  }

  ServerUnderTest server;
};

}  // namespace

TEST_CASE("whoever has not taken a reply for long makes room for the next") {
  Downloads downloads(milliseconds(0));
  Client one = downloads.ask('a');
  downloads.wait_for_waiting(1);
  Client two = downloads.ask('a');
  downloads.wait_for_waiting(2);
  Client three = downloads.ask('a');
  downloads.wait_for_cut(1);
  CHECK(one.read_to_end().size() < kFile);
  CHECK(three.read_response().body == std::string(kFile, 'a'));
  CHECK(two.read_response().body == std::string(kFile, 'a'));
  CHECK(downloads.cut() == 1);
  REQUIRE(downloads.server.eventually([&] { return downloads.server.metrics.bytes_waiting == 0; }));
}

TEST_CASE("of several tenants the one that holds most makes room, not the one that began first") {
  Downloads downloads(milliseconds(0));
  Client honest = downloads.ask('a');
  downloads.wait_for_waiting(1);
  Client greedy = downloads.ask('b');
  downloads.wait_for_waiting(2);
  Client again = downloads.ask('b');  // whose turn it is: both hold the same
  downloads.wait_for_cut(1);
  Client third = downloads.ask('b');
  downloads.wait_for_cut(2);
  CHECK(third.read_response().body == std::string(kFile, 'b'));
}

TEST_CASE("where all are quick, the next is told to come again") {
  Downloads downloads(hours(1));
  Client one = downloads.ask('a');
  downloads.wait_for_waiting(1);
  Client two = downloads.ask('a');
  downloads.wait_for_waiting(2);
  const Response full = downloads.ask('b').read_response();
  CHECK(full.status == 503);
  CHECK(full.headers.at("retry-after") == "1");
  CHECK(full.message() == "too many replies wait for their clients; try again");
  CHECK(one.read_response().body == std::string(kFile, 'a'));
  CHECK(downloads.ask('b').read_response().body == std::string(kFile, 'b'));
  CHECK(two.read_response().body == std::string(kFile, 'a'));
  CHECK(downloads.cut() == 0);
}
