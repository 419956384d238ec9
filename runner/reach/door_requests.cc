// Requests that are malformed, huge, slow or many.
#include <array>
#include <vector>

#include "runner/reach/door_probe.h"

namespace runner::reach {
namespace {

std::string post_head(const Door& door, const std::string& target) {
  return "POST " + target + " HTTP/1.1\r\nHost: " + host_header(door.address()) + "\r\n" +
         door.authorization() + "Content-Type: application/json\r\n";
}

std::size_t replies_in(const std::string& all) {
  std::size_t n = 0;
  for (auto at = all.find("HTTP/1.1 "); at != std::string::npos; at = all.find("HTTP/1.1 ", at + 1))
    ++n;
  return n;
}

// Each must be refused, with nothing after the refusal: a second request in the body stays unread.
Observation refuse_all(Door& door, const std::vector<std::string>& headers) {
  const std::string smuggled = "\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& header : headers) {
    const Reply reply = door.raw(post_head(door, "/v1/evaluate") + header + smuggled);
    const std::string shown = header.substr(0, header.find('\r'));
    if (reply.is_success()) return reached(shown);
    if (replies_in(reply.all) > 1) return reached("a second request was smuggled: " + shown);
  }
  return blocked(std::to_string(headers.size()) + " forms refused");
}

Observation two_lengths(Door& door) {
  return refuse_all(door,
                    {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                     "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                     "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 6\r\n"});
}

Observation odd_lengths(Door& door) {
  return refuse_all(door,
                    {"Content-Length: +5\r\n", "Content-Length: -1\r\n", "Content-Length: 0x5\r\n",
                     "Content-Length:\r\n", "Content-Length: 99999999999999999999999\r\n"});
}

Observation odd_encodings(Door& door) {
  return refuse_all(
      door, {"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
             "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding : chunked\r\n"});
}

Observation odd_lines(Door& door) {
  return refuse_all(door, {"X: a\nContent-Length: 5\r\n", "X: a\rb\r\n", "X\r\n", ": x\r\n",
                           std::string("X: \0\r\n", 6)});
}

Observation not_http(Door& door) {
  for (const std::string& bytes :
       {std::string("GET /v1/containers\r\n\r\n"), std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15),
        std::string("CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\n\r\n")}) {
    const Reply reply = door.raw(bytes);
    if (reply.is_success()) return reached(bytes.substr(0, 16));
  }
  return blocked("four kinds refused");
}

Observation huge_header(Door& door) {
  return by_status(
      door.ask({.target = "/v1/containers",
                .headers = "X-Big: " + std::string(std::size_t{1} << 20U, 'a') + "\r\n"}));
}

Observation many_headers(Door& door) {
  std::string headers;
  for (int i = 0; i < 20'000; ++i) headers += "X-" + std::to_string(i) + ": 1\r\n";
  return by_status(door.ask({.target = "/v1/containers", .headers = headers}));
}

Observation long_target(Door& door) {
  return by_status(door.ask({.target = "/v1/" + std::string(std::size_t{1} << 20U, 'a')}));
}

// Announced, never sent: it must be refused at once, not waited for.
Observation announced_body(Door& door) {
  auto connection = door.connect();
  if (!connection) return unclear("no connection");
  connection->set_deadline(std::chrono::seconds(8));
  (void)connection->send(post_head(door, "/v1/evaluate") + "Content-Length: 900000000000\r\n\r\n");
  const Reply reply = parse_reply(connection->read_to_end());
  if (reply.status == 0) return reached("900 GB are waited for");
  return by_status(reply);
}

Observation large_json(Door& door) {
  return by_status(door.post("/v1/containers",
                             R"({"name":")" + std::string(std::size_t{4} << 20U, 'a') + "\"}"));
}

Observation json_bombs(Door& door) {
  const std::string deep(200'000, '[');
  for (const std::string& body :
       {deep, R"({"name":)" + deep, std::string(R"({"name":"a","name":"b"})"),
        std::string(R"({"name":NaN})"), std::string("{\"name\":\"\xff\xfe\"}"),
        std::string(R"({"expires_after":{"anchor":"last_active_at","minutes":1e999999}})"),
        std::string(R"({"name":"\ud800"})"), std::string("{} {}"), std::string("[]")}) {
    const Reply reply = door.post("/v1/containers", body);
    if (reply.is_success()) {
      (void)door.ask({.method = "DELETE", .target = "/v1/containers/" + text_of(reply, "id")});
      return reached("taken: " + body.substr(0, 40));
    }
    if (reply.status >= 500 || reply.status == 0) {
      return reached("HTTP " + std::to_string(reply.status) + ": " + body.substr(0, 40));
    }
  }
  return blocked("nine bodies refused");
}

// While many hold a connection open, others must still be served.
Observation hold(Door& door, const std::string& bytes, int count) {
  std::vector<Connection> held;
  for (int i = 0; i < count; ++i) {
    auto connection = door.connect();
    if (!connection) break;
    (void)connection->send(bytes);
    held.push_back(std::move(*connection));
  }
  if (!door.answers()) return reached(std::to_string(held.size()) + " connections shut it out");
  return blocked("others are served beside " + std::to_string(held.size()));
}

constexpr int kMany = 100;

Observation slow_heads(Door& door) {
  return hold(door, "GET /healthz HTTP/1.1\r\nHost: local", kMany);
}
Observation slow_bodies(Door& door) {
  return hold(door, post_head(door, "/v1/evaluate") + "Content-Length: 100\r\n\r\n{", kMany);
}
Observation idle_connections(Door& door) { return hold(door, "", 2 * kMany); }

Observation resets(Door& door) {
  for (int i = 0; i < kMany; ++i) {
    auto connection = door.connect();
    if (!connection) return reached("after " + std::to_string(i) + " it takes no more");
    (void)connection->send("GET /v1/containers HTTP/1.1\r\nHost: localhost\r\n");
    connection->reset();
  }
  return door.answers() ? blocked("others are served") : reached("it answers no more");
}

constexpr std::array kProbes{
    door("d50", "two-lengths", "gives a request two lengths, to smuggle another in",
         "request smuggling, CWE-444", two_lengths),
    door("d51", "odd-lengths", "gives lengths that parsers read in different ways",
         "request smuggling, CWE-444", odd_lengths),
    door("d52", "odd-encodings", "gives transfer codings that parsers read in different ways",
         "request smuggling, CWE-444", odd_encodings),
    door("d53", "odd-lines", "gives header lines that parsers read in different ways",
         "request smuggling, CWE-444", odd_lines),
    door("d54", "not-http", "speaks HTTP/0.9, HTTP/2, TLS and CONNECT", "protocol confusion",
         not_http),
    door("d55", "huge-header", "sends a header of a megabyte", "parser DoS class, CWE-770",
         huge_header),
    door("d56", "many-headers", "sends twenty thousand headers", "parser DoS class", many_headers),
    door("d57", "long-target", "asks for a target of a megabyte", "parser DoS class", long_target),
    door("d58", "announced-body", "announces 900 GB and waits", "CWE-770", announced_body),
    door("d59", "large-json", "sends a name of four megabytes", "CWE-770", large_json),
    door("d60", "json-bombs", "sends JSON that is deep, doubled, not a number or not UTF-8",
         "parser DoS class", json_bombs),
    door("d61", "slow-headers", "holds a hundred half headers", "slowloris", slow_heads),
    door("d62", "slow-bodies", "holds a hundred half bodies", "slow POST (R.U.D.Y.)", slow_bodies),
    door("d63", "idle-connections", "holds two hundred idle connections", "CWE-400",
         idle_connections),
    door("d64", "resets", "resets a hundred connections in the middle of a header", "CWE-400",
         resets),
};

}  // namespace

std::span<const DoorProbe> door_requests() { return kProbes; }

}  // namespace runner::reach
