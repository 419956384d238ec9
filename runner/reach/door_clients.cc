// Who may come in, and whose is what.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <array>

#include "runner/reach/door_probe.h"

namespace runner::reach {
namespace {

constexpr const char* kRun = R"j({"language":"python","code":"print(1)"})j";

Observation list_with(Door& door, const std::string& headers) {
  return by_status(door.ask({.target = "/v1/containers", .headers = headers, .client = -1}));
}

Observation no_token(Door& door) { return list_with(door, ""); }
Observation wrong_token(Door& door) {
  return list_with(door, "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n");
}
Observation empty_token(Door& door) { return list_with(door, "Authorization: Bearer \r\n"); }

// Half a token must not open half a door.
Observation token_prefix(Door& door) {
  std::string header = door.authorization(0);
  header.resize(header.size() - 4);
  return list_with(door, header + "\r\n");
}

Observation basic_scheme(Door& door) {
  return list_with(door, "Authorization: Basic YWRtaW46YWRtaW4=\r\n");
}

Observation token_in_query(Door& door) {
  const std::string header = door.authorization(0);
  const std::string token = header.substr(22, header.size() - 24);
  return by_status(door.ask({.target = "/v1/containers?access_token=" + token, .client = -1}));
}

// Asks for another's container, or what is in it, as the second client.
Observation as_other(Door& door, const char* method, const std::string& rest,
                     const std::string& body = "") {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  return by_status(door.ask(
      {.method = method, .target = "/v1/containers/" + id + rest, .body = body, .client = 1}));
}

Observation other_get(Door& door) { return as_other(door, "GET", ""); }
Observation other_execute(Door& door) { return as_other(door, "POST", "/execute", kRun); }
Observation other_files(Door& door) { return as_other(door, "GET", "/files"); }
Observation other_delete(Door& door) { return as_other(door, "DELETE", ""); }
Observation other_interrupt(Door& door) { return as_other(door, "POST", "/interrupt", "{}"); }

Observation other_list(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply = door.ask({.target = "/v1/containers?limit=100", .client = 1});
  if (reply.all.find(id) != std::string::npos) return reached("another's container is listed");
  return reply.is_success() ? blocked("not listed") : by_status(reply);
}

Observation other_file_by_id(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply made = door.ask({.method = "POST",
                               .target = "/v1/containers/" + id + "/files?name=secret.txt",
                               .body = "secret",
                               .type = "text/plain"});
  const std::string file = text_of(made, "id");
  if (file.empty()) return unclear("no file could be put");
  const Reply theirs = door.ask(
      {.method = "POST", .target = "/v1/containers", .body = R"({"name":"o"})", .client = 1});
  const std::string other = text_of(theirs, "id");
  if (other.empty()) return unclear("the second client gets no container");
  Observation copied = by_status(door.ask({.method = "POST",
                                           .target = "/v1/containers/" + other + "/files",
                                           .body = R"({"file_id":")" + file + "\"}",
                                           .client = 1}));
  (void)door.ask({.method = "DELETE", .target = "/v1/containers/" + other, .client = 1});
  return copied;
}

// Ids that follow one another could be guessed.
Observation guessed_id(Door& door) {
  const std::string id = door.container();
  const std::string next = door.container();
  if (id.empty() || next.empty()) return unclear("no container could be made");
  std::size_t same = 0;
  while (same < id.size() && same < next.size() && id[same] == next[same]) ++same;
  constexpr std::size_t kLuck = 14;  // "cntr_" and nine digits alike: one in 2^36
  if (same > kLuck) return reached("two ids begin alike: " + id.substr(0, same));
  std::string near = id;
  near.back() = near.back() == '0' ? '1' : '0';
  return by_status(door.ask({.target = "/v1/containers/" + near}));
}

Observation used_after_delete(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  (void)door.ask({.method = "DELETE", .target = "/v1/containers/" + id});
  return by_status(door.post("/v1/containers/" + id + "/execute", kRun));
}

Observation rebinding(Door& door) {
  for (const char* host : {"attacker.invalid", "attacker.invalid:80", "localhost.attacker.invalid",
                           "127.0.0.1.attacker.invalid", "localhost@attacker.invalid"}) {
    const Reply reply =
        door.ask({.method = "POST", .target = "/v1/execute", .body = kRun, .host = host});
    if (reply.is_success()) return reached(host);
    if (reply.status < 400) return unclear("no HTTP reply");
  }
  return blocked("five names refused");
}

Observation two_hosts(Door& door) {
  return by_status(door.ask({.target = "/healthz", .headers = "Host: attacker.invalid\r\n"}));
}

Observation foreign_origin(Door& door) {
  for (const char* origin :
       {"http://attacker.invalid", "null", "https://localhost.attacker.invalid", "file://",
        "http://127.0.0.1:1"}) {
    const Reply reply = door.ask({.method = "POST",
                                  .target = "/v1/execute",
                                  .body = kRun,
                                  .headers = std::string("Origin: ") + origin + "\r\n"});
    if (reply.is_success()) return reached(origin);
    if (reply.status < 400) return unclear("no HTTP reply");
  }
  return blocked("five origins refused");
}

Observation cors(Door& door) {
  for (const char* method : {"OPTIONS", "GET"}) {
    const Reply reply = door.ask({.method = method,
                                  .target = "/v1/execute",
                                  .headers = "Origin: http://attacker.invalid\r\n"
                                             "Access-Control-Request-Method: POST\r\n"});
    if (reply.headers.contains("access-control-allow-origin")) {
      return reached("Access-Control-Allow-Origin is given");
    }
  }
  return blocked("no Access-Control header");
}

Observation plain_post(Door& door) {
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "text/json"}) {
    const Reply reply =
        door.ask({.method = "POST", .target = "/v1/execute", .body = kRun, .type = type});
    if (reply.is_success()) return reached(type);
    if (reply.status < 400) return unclear("no HTTP reply");
  }
  return blocked("three types refused");
}

Observation get_executes(Door& door) {
  const Reply reply = door.ask({.target = "/v1/execute?language=python&code=print(1)",
                                .headers = "X-HTTP-Method-Override: POST\r\n"});
  return by_status(reply);
}

Observation bare_headers(Door& door) {
  Reply reply = door.ask({.target = "/v1/containers"});
  if (reply.status == 0) return unclear("no HTTP reply");
  for (const auto& [name, value] :
       {std::pair("x-content-type-options", "nosniff"), std::pair("cache-control", "no-store"),
        std::pair("x-frame-options", "DENY")}) {
    if (reply.headers[name] != value) return reached(std::string("no ") + name);
  }
  return blocked("nosniff, no-store, no frames");
}

// A server on loopback must not be heard at the host's other addresses.
Observation other_addresses(Door& door) {
  DoorAddress elsewhere = door.address();
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return unclear("the host's addresses could not be listed");
  int tried = 0;
  std::string heard;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* in = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    (void)::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size());
    elsewhere.host = text.data();
    if (elsewhere.host.starts_with("127.")) continue;
    ++tried;
    if (Connection::open(elsewhere)) heard = elsewhere.host;
  }
  ::freeifaddrs(list);
  return heard.empty() ? blocked(std::to_string(tried) + " other addresses are silent")
                       : reached("it answers at " + heard);
}

constexpr std::array kProbes{
    door("d20", "missing-token", "comes without a token", "CVE-2025-49596 (MCP inspector)",
         no_token, Clients::kOne),
    door("d21", "wrong-token", "comes with a token nobody has", "CWE-287", wrong_token,
         Clients::kOne),
    door("d22", "empty-token", "comes with an empty token", "CWE-287", empty_token, Clients::kOne),
    door("d23", "token-cut-short", "comes with the beginning of a right token", "CWE-287",
         token_prefix, Clients::kOne),
    door("d24", "basic-scheme", "comes with another scheme of authorization", "CWE-287",
         basic_scheme, Clients::kOne),
    door("d25", "token-in-query", "gives the token where logs will keep it", "RFC 6750 2.3",
         token_in_query, Clients::kOne),
    door("d26", "other-clients-container", "looks at another client's container by its id",
         "IDOR, CWE-639", other_get, Clients::kTwo),
    door("d27", "other-clients-execute", "runs code in another client's container", "IDOR, CWE-639",
         other_execute, Clients::kTwo),
    door("d28", "other-clients-files", "lists another client's files", "IDOR, CWE-639", other_files,
         Clients::kTwo),
    door("d29", "other-clients-delete", "deletes another client's container", "IDOR, CWE-639",
         other_delete, Clients::kTwo),
    door("d30", "other-clients-interrupt", "interrupts another client's code", "IDOR, CWE-639",
         other_interrupt, Clients::kTwo),
    door("d31", "other-clients-list", "looks for another client's container in the list",
         "IDOR, CWE-639", other_list, Clients::kTwo),
    door("d32", "other-clients-file-copied", "copies another client's file by its id",
         "IDOR, CWE-639", other_file_by_id, Clients::kTwo),
    door("d33", "guessed-id", "guesses the id next to its own", "CWE-340", guessed_id),
    door("d34", "used-after-delete", "runs code in a container that was deleted",
         "use after free of a session", used_after_delete),
    door("d35", "rebinding-host", "comes with the name of another site as its Host",
         "CVE-2025-66414, CVE-2025-66416 (MCP SDKs)", rebinding, Clients::kAny, Where::kLoopback),
    door("d36", "two-hosts", "gives two Host headers", "RFC 9112 3.2; request smuggling class",
         two_hosts),
    door("d37", "foreign-origin", "comes from a page of another site",
         "CVE-2025-49596 (MCP inspector); CSRF", foreign_origin, Clients::kAny, Where::kLoopback),
    door("d38", "cors-for-all", "asks whether other sites may read replies", "localhost CORS class",
         cors),
    door("d39", "form-post", "posts as a page may without asking", "CSRF, CWE-352", plain_post),
    door("d40", "get-executes", "runs code by a link", "CSRF, CWE-352", get_executes),
    door("d41", "bare-headers", "looks for a reply that a browser would sniff, keep or frame",
         "stored XSS class", bare_headers),
    door("d42", "other-addresses", "looks for the server at the host's other addresses",
         "0.0.0.0 exposure class", other_addresses, Clients::kAny, Where::kLoopback),
};

}  // namespace

std::span<const DoorProbe> door_clients() { return kProbes; }

}  // namespace runner::reach
