// A tool call that needs a session, and makes one if it is given none. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "runner/mcp/call.h"
#include "runner/mcp/options.h"
#include "runner/service.h"

namespace runner::mcp {

class SessionCall;

// What all calls share, and outlives them.
struct Shared {
  Shared(boost::asio::io_context& loop_in, Service& service_in, Options options_in)
      : loop(loop_in),
        service(service_in),
        options(std::move(options_in)),
        identity{options.version, instructions(options.facts)} {}

  boost::asio::io_context& loop;
  Service& service;
  const Options options;
  const Identity identity;
  std::set<std::shared_ptr<SessionCall>> live;  // held here until they are over

  // A call that was cancelled cannot be answered any more. What became of it is told by the next
  // one of that session.
  void tell_later(const std::string& session_id, const std::string& text);
  std::vector<std::string> untold(const std::string& session_id);

  // The reply that all results take.
  void answer(const Request& request, Outlet& outlet, json::object result) const;
  // Expired: the desk is gone.
  [[nodiscard]] std::weak_ptr<char> alive() const { return alive_; }

 private:
  friend class SessionCall;
  std::map<std::string, std::string> untold_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

class SessionCall : public Call, public std::enable_shared_from_this<SessionCall> {
 public:
  SessionCall(Shared& shared, Request request, std::shared_ptr<Outlet> outlet,
              const std::optional<std::string>& session_id);

  void start(const std::optional<std::string>& language);
  void cancel() final;
  // It was cancelled, and has no session yet.
  [[nodiscard]] bool is_given_up() const { return is_cancelled_ && session_id_.empty(); }

 protected:
  // There is a session: work on it, then finish(), or retire() where is_cancelled().
  virtual void go() = 0;
  virtual void interrupt() = 0;

  void finish(json::object result);
  void refuse(const Refusal& refusal);  // a session of our own making goes with it
  void retire();                        // over: lets go of this, later
  void notify(const std::string& message);

  [[nodiscard]] Shared& shared() const { return shared_; }
  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const std::string& session_id() const { return session_id_; }
  [[nodiscard]] bool is_new() const { return is_new_; }
  [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }
  [[nodiscard]] bool is_over() const { return is_over_; }
  void remove_own_session();

 private:
  void on_created(const Answer<Container>& made);

  Shared& shared_;
  Request request_;
  std::shared_ptr<Outlet> outlet_;
  std::string session_id_;
  bool is_new_ = false;
  bool is_cancelled_ = false;
  bool is_over_ = false;
};

}  // namespace runner::mcp
