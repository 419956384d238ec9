// What the doors' probes share: a client with a token, a container that is taken away again, and
// their table. One thread.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/reach/door_client.h"
#include "runner/reach/interrupt.h"
#include "runner/reach/probe.h"

namespace runner::reach {

class Door {
 public:
  Door(DoorAddress address, std::vector<std::string> tokens);
  ~Door();  // deletes what containers are left
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  Door(Door&&) = delete;
  Door& operator=(Door&&) = delete;

  struct Ask {
    std::string method = "GET";
    std::string target;
    std::string body = {};
    std::string headers = {};  // beside Host, Authorization, Content-Type, Content-Length
    std::string type = "application/json";
    int client = 0;         // whose token: 0 or 1; -1: none
    std::string host = {};  // empty: the right one
  };
  Reply ask(const Ask& ask);
  Reply post(const std::string& target, const std::string& body);
  // Bytes as they are, on a connection of their own.
  Reply raw(std::string_view bytes);
  std::optional<Connection> connect();
  // "Authorization: Bearer ...\r\n", or nothing.
  [[nodiscard]] std::string authorization(int client = 0) const;

  // The id of a new container of the first client; empty: none could be made.
  std::string container();
  Reply run(const std::string& container, const std::string& code);  // Python
  [[nodiscard]] bool answers();  // /healthz, within five seconds

  [[nodiscard]] const DoorAddress& address() const { return address_; }
  [[nodiscard]] std::size_t clients() const { return tokens_.size(); }
  // A file of this host with a secret in it, which no reply may hold.
  [[nodiscard]] const std::string& canary_path() const { return canary_path_; }
  [[nodiscard]] const std::string& canary() const { return canary_; }

 private:
  // On a connection of its own.
  static Reply exchange(std::optional<Connection> connection, std::string_view bytes);

  DoorAddress address_;
  std::vector<std::string> tokens_;
  std::vector<std::pair<std::string, int>> containers_;  // id and client, of whatever was made
  Interrupt interrupt_;                                  // containers are to be deleted
  std::string canary_path_;
  std::string canary_;
  jail::Fd held_;  // the canary's file
};

// How many clients a probe needs the tokens of.
enum class Clients { kAny, kOne, kTwo };

// Host and Origin are checked where a browser could be led to: on loopback. No page can reach a
// unix socket, and beyond this machine a token decides.
enum class Where { kAnywhere, kLoopback };

struct DoorProbe {
  Probe probe;
  Observation (*run)(Door&);
  Clients clients = Clients::kAny;
  Where where = Where::kAnywhere;
};

std::span<const DoorProbe> door_files();     // names in, files out
std::span<const DoorProbe> door_clients();   // tokens, other clients, Host, Origin
std::span<const DoorProbe> door_requests();  // malformed, huge and slow requests
std::span<const DoorProbe> door_streams();   // what code forges in its replies

// Of one line each.
Observation reached(const std::string& detail);
Observation blocked(const std::string& detail);
Observation unclear(const std::string& detail);
// Blocked by a refusal; reached by a success; else unclear.
Observation by_status(const Reply& reply);

// The member of a JSON body as text; empty: there is none.
std::string text_of(const Reply& reply, const char* key);
std::string quoted(const std::string& text);  // as a JSON string

constexpr DoorProbe door(std::string_view id, std::string_view name, std::string_view tries,
                         std::string_view source, Observation (*run)(Door&),
                         Clients clients = Clients::kAny, Where where = Where::kAnywhere) {
  Probe probe;
  probe.id = id;
  probe.name = name;
  probe.tries = tries;
  probe.source = source;
  probe.category = Category::kDoor;
  probe.stopped_by = Layer::kSupervisor;
  probe.by = By::kDoor;
  return {probe, run, clients, where};
}

}  // namespace runner::reach
