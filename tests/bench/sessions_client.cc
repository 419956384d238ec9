// A client of the sessions API that costs next to nothing itself; sessions_bench.py starts it.
//   sessions_client PORT bare N             GET /healthz, N times
//   sessions_client PORT warm N             1+1 in one container
//   sessions_client PORT first N PAUSE_MS   a container made and its first answer, then deleted
//   sessions_client PORT create N PAUSE_MS  a container made, then deleted
//   sessions_client PORT sustained SECONDS  made, asked, deleted by two clients
// One JSON document on stdout: {"us":[...]}, or {"count":N,"seconds":S}.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jail/fd.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kFirst = R"({"code":"import pandas as pd; 1+1"})";
constexpr std::string_view kWarm = R"({"code":"1+1"})";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One connection that is kept. Throws where a reply is not as it should be.
class Client {
 public:
  explicit Client(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    const timeval patience{60, 0};
    (void)::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("cannot connect");
  }

  std::string call(std::string_view method, const std::string& target, std::string_view body = {}) {
    std::string request(method);
    request += " " + target + " HTTP/1.1\r\nHost: localhost\r\n";
    if (!body.empty())
      request +=
          "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n";
    request += "\r\n";
    request += body;
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
      throw std::runtime_error("cannot send");
    return reply(target);
  }

  std::string create() {
    const std::string made = call("POST", "/v1/containers", R"({"name":"bench"})");
    constexpr std::string_view kId = "\"id\":\"";
    const std::size_t at = made.find(kId);
    if (at == std::string::npos) throw std::runtime_error(made);
    const std::size_t from = at + kId.size();
    return made.substr(from, made.find('"', from) - from);
  }

  void execute(const std::string& id, std::string_view body) {
    const std::string said = call("POST", "/v1/containers/" + id + "/execute", body);
    const bool ok = said.find(R"("outcome":"ok")") != std::string::npos;
    if (!ok || said.find(R"("text":"2")") == std::string::npos) throw std::runtime_error(said);
  }

  void remove(const std::string& id) { call("DELETE", "/v1/containers/" + id); }

 private:
  std::string reply(const std::string& target) {
    in_.clear();
    std::size_t end = std::string::npos;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos) read_some();
    const int status = std::atoi(in_.c_str() + std::string_view("HTTP/1.1 ").size());
    std::size_t size = 0;
    constexpr std::string_view kLength = "Content-Length: ";
    if (const std::size_t at = in_.find(kLength); at < end)
      size = std::strtoul(in_.c_str() + at + kLength.size(), nullptr, 10);
    while (in_.size() < end + 4 + size) read_some();
    if (status >= 300) throw std::runtime_error(target + ": " + in_);
    return in_.substr(end + 4);
  }

  void read_some() {
    char buffer[16384];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n <= 0) throw std::runtime_error("the server has closed, or is silent");
    in_.append(buffer, static_cast<std::size_t>(n));
  }

  jail::Fd socket_;
  std::string in_;
};

// The first tenth is not counted: caches, pools and pages.
template <class Step>
void time_each(int rounds, const Step& step) {
  std::vector<double> took;
  for (int i = -rounds / 10 - 1; i < rounds; ++i) {
    const double seconds = step();
    if (i >= 0) took.push_back(seconds * 1e6);
  }
  std::printf("{\"us\":[");
  for (std::size_t i = 0; i < took.size(); ++i) std::printf(i == 0 ? "%.1f" : ",%.1f", took[i]);
  std::printf("]}\n");
}

void first(Client& client, int rounds, int pause_ms) {
  time_each(rounds, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    const auto start = Clock::now();
    const std::string id = client.create();
    client.execute(id, kFirst);
    const double took = seconds_since(start);
    client.remove(id);
    return took;
  });
}

void create(Client& client, int rounds, int pause_ms) {
  time_each(rounds, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    const auto start = Clock::now();
    const std::string id = client.create();
    const double took = seconds_since(start);
    client.remove(id);
    return took;
  });
}

void warm(Client& client, int rounds) {
  const std::string id = client.create();
  time_each(rounds, [&] {
    const auto start = Clock::now();
    client.execute(id, kWarm);
    return seconds_since(start);
  });
  client.remove(id);
}

void bare(Client& client, int rounds) {
  time_each(rounds, [&] {
    const auto start = Clock::now();
    client.call("GET", "/healthz");
    return seconds_since(start);
  });
}

// What a thread throws ends the program: the figure would be wrong.
void sustained(std::uint16_t port, int seconds) {
  std::atomic<int> count{0};
  const auto start = Clock::now();
  std::vector<std::thread> clients;
  clients.reserve(2);
  for (int i = 0; i < 2; ++i)
    clients.emplace_back([&] {
      Client client(port);
      while (seconds_since(start) < seconds) {
        const std::string id = client.create();
        client.execute(id, kFirst);
        client.remove(id);
        ++count;
      }
    });
  for (std::thread& one : clients) one.join();
  std::printf("{\"count\":%d,\"seconds\":%.3f}\n", count.load(), seconds_since(start));
}

int run(const std::vector<std::string>& words) {
  const auto port = static_cast<std::uint16_t>(std::stoi(words.at(0)));
  const std::string& what = words.at(1);
  const int number = std::stoi(words.at(2));
  if (what == "sustained") return sustained(port, number), 0;
  Client client(port);
  if (what == "bare") return bare(client, number), 0;
  if (what == "warm") return warm(client, number), 0;
  if (what == "first") return first(client, number, std::stoi(words.at(3))), 0;
  if (what == "create") return create(client, number, std::stoi(words.at(3))), 0;
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sessions_client: %s\n", error.what());
    return 1;
  }
}
