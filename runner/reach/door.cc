#include "runner/reach/door.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "runner/reach/door_probe.h"
#include "runner/reach/stale.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

constexpr std::chrono::seconds kPatience{3};
constexpr std::string_view kPrefix = "sandglass-door-";

std::string random_word() {
  std::random_device device;
  std::string word;
  for (int i = 0; i < 4; ++i) word += std::to_string(device());
  return word;
}

Observation observation(Verdict verdict, const std::string& detail) {
  constexpr std::size_t kMost = 200;
  return {verdict, printable(detail.substr(0, kMost)), 0};
}

std::vector<const DoorProbe*> all_doors() {
  std::vector<const DoorProbe*> all;
  for (const auto part : {door_files(), door_clients(), door_requests(), door_streams()}) {
    for (const DoorProbe& probe : part) all.push_back(&probe);
  }
  return all;
}

bool is_named(const Probe& probe, const std::string& word) {
  return word == probe.id || word == probe.name;
}

// In the order of the catalogue. kUsage: a word that names none.
Result<std::vector<const DoorProbe*>> chosen(const std::vector<std::string>& only) {
  const std::vector<const DoorProbe*> all = all_doors();
  for (const std::string& word : only)
    if (std::none_of(all.begin(), all.end(),
                     [&](const DoorProbe* one) { return is_named(one->probe, word); }))
      return fail(ErrorKind::kUsage, "no probe " + printable(word) +
                                         " of the door; sandglass probe --list --category door "
                                         "names them");
  std::vector<const DoorProbe*> wanted;
  for (const DoorProbe* one : all)
    if (only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& word) {
          return is_named(one->probe, word);
        }))
      wanted.push_back(one);
  return wanted;
}

constexpr const char* kContainers = "/v1/containers";

std::size_t needed(Clients clients) {
  return clients == Clients::kTwo ? 2 : clients == Clients::kOne ? 1 : 0;
}

bool is_loopback(const DoorAddress& address) {
  return address.host.starts_with("127.") || address.host == "::1";
}

Row row_of(const DoorProbe& probe, Door& door) {
  Row row;
  row.probe = &probe.probe;
  row.expected = Verdict::kBlocked;
  row.got = probe.run(door);
  // Whatever a probe does, the door must still open to others.
  if (!door.answers()) row.got = reached("the server no longer answers: " + row.got.detail);
  return row;
}

// A server that refuses everything would pass for a safe one: honest work first. The text says what
// does not work; empty: nothing.
std::string refuses_honest_work(Door& door) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::string id = door.container();
  // A server that has just been started may still be busy with its first jails (503).
  while (id.empty() && std::chrono::steady_clock::now() < until && !is_interrupted()) {
    std::this_thread::sleep_for(kGlance);
    id = door.container();
  }
  if (id.empty()) return "it makes no container";
  if (text_of(door.run(id, "print(6 * 7)"), "stdout") != "42\n") return "it does not run Python";
  const std::string files = "/v1/containers/" + id + "/files";
  const Reply made = door.ask(
      {.method = "POST", .target = files + "?name=a.txt", .body = "honest", .type = "text/plain"});
  const Reply content = door.ask({.target = files + "/" + text_of(made, "id") + "/content"});
  if (content.body != "honest") return "a file does not come back";
  if (door.clients() < 2) return "";
  const Reply second = door.ask({.target = "/v1/containers", .client = 1});
  return second.is_success() ? "" : "the second token is not taken";
}

}  // namespace

Observation reached(const std::string& detail) { return observation(Verdict::kReached, detail); }
Observation blocked(const std::string& detail) { return observation(Verdict::kBlocked, detail); }
Observation unclear(const std::string& detail) {
  return observation(Verdict::kInconclusive, detail);
}

Observation by_status(const Reply& reply) {
  const std::string status = "HTTP " + std::to_string(reply.status);
  if (reply.is_success()) return reached(status);
  if (reply.status >= 400) return blocked(status);
  return reply.all.empty() ? blocked("the connection was closed") : unclear("no HTTP reply");
}

std::string text_of(const Reply& reply, const char* key) {
  boost::system::error_code error;
  const auto value = boost::json::parse(reply.body, error);
  if (error || !value.is_object()) return "";
  const auto* member = value.get_object().if_contains(key);
  return member != nullptr && member->is_string() ? std::string(member->get_string()) : "";
}

std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::value(text));
}

Door::Door(DoorAddress address, std::vector<std::string> tokens)
    : address_(std::move(address)), tokens_(std::move(tokens)), canary_("CANARY-" + random_word()) {
  (void)sweep_stale("/tmp", kPrefix);
  std::string path = "/tmp/" + std::string(kPrefix) + std::to_string(::getpid()) + "-XXXXXX";
  const jail::Fd fd(::mkstemp(path.data()));
  if (!fd.valid()) return;  // then only the host's own files can tell
  canary_path_ = path;
  held_ = hold(path);
  // For a server of another user to be tempted.
  (void)::fchmod(fd.get(), 0644);
  std::ofstream(path) << canary_ << '\n';
}

Door::~Door() {
  forget_interrupt();
  for (const auto& [id, client] : std::exchange(containers_, {})) {
    (void)ask({.method = "DELETE", .target = "/v1/containers/" + id, .client = client});
  }
  if (!canary_path_.empty()) (void)::unlink(canary_path_.c_str());
}

std::string Door::authorization(int client) const {
  const auto index = static_cast<std::size_t>(client);
  if (client < 0 || index >= tokens_.size()) return "";
  return "Authorization: Bearer " + tokens_[index] + "\r\n";
}

std::optional<Connection> Door::connect() {
  auto connection = Connection::open(address_);
  if (!connection) return std::nullopt;
  return std::move(*connection);
}

Reply Door::raw(std::string_view bytes) { return exchange(connect(), bytes); }

Reply Door::exchange(std::optional<Connection> connection, std::string_view bytes) {
  if (!connection) return {};
  (void)connection->send(bytes);  // a server that has heard enough may close before the end
  return parse_reply(connection->read_to_end());
}

Reply Door::ask(const Ask& ask) {
  std::string request = ask.method + " " + ask.target + " HTTP/1.1\r\nHost: " +
                        (ask.host.empty() ? host_header(address_) : ask.host) + "\r\n" +
                        authorization(ask.client) + ask.headers;
  if (!ask.body.empty()) {
    request += "Content-Type: " + ask.type +
               "\r\nContent-Length: " + std::to_string(ask.body.size()) + "\r\n";
  }
  request += "Connection: close\r\n\r\n" + ask.body;
  if (ask.method != "POST" || ask.target != kContainers) return raw(request);
  auto connection = connect();
  if (connection) connection->see_through();
  Reply reply = exchange(std::move(connection), request);
  if (std::string id = text_of(reply, "id"); reply.is_success() && !id.empty())
    containers_.emplace_back(std::move(id), ask.client);
  return reply;
}

Reply Door::post(const std::string& target, const std::string& body) {
  return ask({.method = "POST", .target = target, .body = body});
}

std::string Door::container() { return text_of(post(kContainers, R"({"name":"probe"})"), "id"); }

Reply Door::run(const std::string& container, const std::string& code) {
  return post("/v1/containers/" + container + "/execute",
              R"({"language":"python","timeout_s":8,"code":)" + quoted(code) + "}");
}

bool Door::answers() {
  auto connection = connect();
  if (!connection) return false;
  connection->set_deadline(std::chrono::seconds(5));
  (void)connection->send("GET /healthz HTTP/1.1\r\nHost: " + host_header(address_) +
                         "\r\nConnection: close\r\n\r\n");
  return parse_reply(connection->read_to_end()).status == 200;
}

std::span<const Probe> server_catalogue() {
  static const std::vector<Probe> all = [] {
    std::vector<Probe> probes;
    for (const DoorProbe* probe : all_doors()) probes.push_back(probe->probe);
    return probes;
  }();
  return all;
}

Result<Report> run_door_suite(const DoorOptions& options) {
  const auto address = parse_door(options.url);
  if (!address) return tl::unexpected(address.error());
  const auto wanted = chosen(options.only);
  if (!wanted) return tl::unexpected(wanted.error());
  if (auto first = Connection::open(*address); !first) {
    return fail(first.error().kind, options.url + ": " + first.error().text);
  }
  const auto start = std::chrono::steady_clock::now();
  Report report{options.url, "door", {}, {}, {}};
  Door door(*address, options.tokens);
  const std::string wrong = refuses_honest_work(door);
  if (is_interrupted()) return interrupted();
  if (!wrong.empty()) {
    return fail(ErrorKind::kHost, options.url + ": " + wrong +
                                      ", so that probes would prove nothing; is the token file "
                                      "the server's?");
  }
  std::string without_clients;
  std::string without_loopback;
  const auto add = [](std::string& list, const DoorProbe& probe) {
    list += (list.empty() ? "" : ", ") + std::string(probe.probe.name);
  };
  std::size_t done = 0;
  for (const DoorProbe* probe : *wanted) {
    if (is_interrupted()) return interrupted();
    if (needed(probe->clients) > options.tokens.size()) {
      add(without_clients, *probe);
    } else if (probe->where == Where::kLoopback && !is_loopback(*address)) {
      add(without_loopback, *probe);
    } else {
      report.rows.push_back(row_of(*probe, door));
    }
    if (options.progress) options.progress(++done, wanted->size());
  }
  if (!without_clients.empty()) {
    report.notes.push_back("not tried, for want of a token file with two clients: " +
                           without_clients);
  }
  if (!without_loopback.empty()) {
    report.notes.push_back(
        "not tried, since they are for a server on loopback, where a browser could be led: " +
        without_loopback);
  }
  report.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  return report;
}

}  // namespace runner::reach
