// The one door to sessions: what every protocol (HTTP, MCP) says to Sandglass, and nothing about
// how it is said. A protocol's adapter knows this header and no process, jail or policy file.
//
// One event loop, its thread. Calls return at once; what takes time is told by callbacks from the
// loop, never from inside the call. A `Tenant` owns what it makes: to everybody else it does not
// exist. Times are wall-clock seconds since 1970.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "jail/units.h"
#include "runner/session/denied.h"
#include "runner/session/outcome.h"
#include "runner/session/workdir.h"

namespace runner {

// Who asks. One a token; the empty one where no token is needed.
using Tenant = std::string;

// Why a request cannot be done. The text is one line for the client: what and how to mend it; it
// never holds a path of the host.
struct Refusal {
  enum class Kind : std::uint8_t {
    kInvalid,      // the request makes no sense: 400
    kNotFound,     // no such container, file or execution: 404
    kExpired,      // the container has expired: 400 "Container is expired."
    kTooLarge,     // a file or body over a limit: 413
    kTooMany,      // a quota or queue is full: 429
    kUnavailable,  // we cannot do it now or on this host: 503
  };
  Kind kind = Kind::kInvalid;
  std::string text;
  std::string param;                                     // the field it is about, if any
  std::optional<std::chrono::seconds> retry_after = {};  // kTooMany, kUnavailable
};

template <class T>
using Answer = tl::expected<T, Refusal>;

// A file's bytes, which nobody changes any more.
using Content = std::shared_ptr<const std::string>;

inline tl::unexpected<Refusal> refuse(Refusal::Kind kind, std::string text,
                                      std::string param = "") {
  return tl::unexpected(Refusal{kind, std::move(text), std::move(param), {}});
}

struct ContainerWish {
  std::string name;
  std::optional<std::string> policy;         // standard
  std::optional<std::string> language;       // python
  std::optional<std::chrono::minutes> idle;  // 1 to the policy's
  std::optional<jail::Bytes> memory;         // may only tighten
  std::vector<std::string> file_ids;         // files of the same tenant, copied in
};

struct Container {
  std::string id;  // "cntr_" and 32 hex digits
  std::string name;
  std::string policy;
  std::string language;
  enum class Status : std::uint8_t { kRunning, kExpired } status = Status::kRunning;
  std::int64_t created_at = 0;
  std::int64_t last_active_at = 0;
  std::int64_t expires_at = 0;
  std::chrono::minutes idle{20};
  jail::Bytes memory{};
};

struct File {
  std::string id;  // "cfile_" and 32 hex digits
  std::string container_id;
  std::string path;  // absolute, in the container; bytes as they are on disk
  std::uint64_t bytes = 0;
  std::int64_t created_at = 0;
  enum class Source : std::uint8_t { kUser, kAssistant } source = Source::kUser;
  std::string sha256;  // hex; empty: `sha256_note` says why
  std::string sha256_note = {};
  // Of a one-shot execution only: the bytes, since there is no container to fetch them from.
  std::optional<std::string> content = {};
};

struct Page {
  std::size_t limit = 20;  // 1 to 100
  enum class Order : std::uint8_t { kAscending, kDescending } order = Order::kDescending;
  std::string after;  // an id; what comes behind it
};

template <class T>
struct Listing {
  std::vector<T> data;
  bool has_more = false;
};

struct ExecuteWish {
  std::string code;
  std::optional<std::string> language;  // the container's
  std::optional<jail::Millis> timeout;  // at most the policy's wall_time
  std::optional<std::string> input;     // what input() reads
};

// One execution in a jail of its own that is gone when it ends.
struct OnceWish {
  ExecuteWish execute;
  std::optional<std::string> policy;                       // the server's default
  std::optional<jail::Bytes> memory;                       // may only tighten
  std::vector<std::pair<std::string, std::string>> files;  // name and content, put in before
};

// What an execution tells, in order; `Finished` comes exactly once and last.
struct Begun {
  std::string execution_id;  // "exec_" and 32 hex digits
  std::uint64_t number = 0;  // of this session's interpreter: the n of "In [n]"
};
struct Output {
  enum class To : std::uint8_t { kOut, kErr } to = To::kOut;
  std::string bytes;  // as written: may end in the middle of a character
};
struct Rich {
  bool is_main = false;                     // the value of the last expression
  std::map<std::string, std::string> data;  // MIME type -> text, or base64 for image/* but svg, pdf
};
struct Raised {
  std::string name;
  std::string value;
  std::string traceback;
};
struct Finished {
  Outcome outcome;
  std::vector<DeniedEntry> denied;
  std::vector<File> files;  // made or changed by this execution
  std::vector<Skipped> skipped;
  std::uint64_t results_dropped = 0;  // beyond 256, or 64 MiB, in one execution
  std::int64_t expires_at = 0;
};
// One arithmetic expression that was evaluated, by no process, and what was replied.
struct Evaluation {
  std::string expression;
  std::optional<std::string> sources;  // as JSON
  Ending ending = Ending::kOk;         // kOk, kRefusal or kDecline
  std::string text;                    // the value, or why it was refused
  std::string reply;                   // JSON
};

// How the trace of a container is shown.
struct TraceWish {
  enum class Form : std::uint8_t { kLines, kNotebook, kPage } form = Form::kLines;
  std::string after;  // the id of an execution; what comes behind it
};
struct TraceText {
  std::string text;
  std::string next;  // the id after which there is more; empty: this was all
};

using ExecutionEvent = std::variant<Begun, Output, Rich, Raised, Finished>;
using ExecutionSink = std::function<void(const ExecutionEvent&)>;

// One execution as its client holds it. Letting go of it means: nobody listens any more; the
// execution goes on unless it is interrupted.
class ExecutionHandle {
 public:
  virtual ~ExecutionHandle() = default;
  virtual void interrupt() = 0;
  // No event is passed on until resume(): the client is slow. The payload waits when its pipes are
  // full.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

// What a policy wants imported before its sessions start, and what of it this host has.
struct Preload {
  struct Missing {
    std::string module;
    std::string reason;  // no path of the host
  };
  std::string policy;
  std::string language;
  enum class State : std::uint8_t { kStarting, kReady, kFailed } state = State::kStarting;
  std::vector<std::string> wanted;
  std::vector<Missing> missing;  // once ready
  std::string trouble = {};      // kFailed: for the operator, not for clients
};
struct Metrics;

class Service {
 public:
  virtual ~Service() = default;

  using ContainerDone = std::function<void(Answer<Container>)>;
  virtual void create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) = 0;
  virtual Answer<Container> find(const Tenant& tenant, std::string_view id) = 0;
  virtual Answer<Listing<Container>> list(const Tenant& tenant, const Page& page,
                                          std::string_view name) = 0;
  virtual Answer<void> remove(const Tenant& tenant, std::string_view id) = 0;

  // Queues the code behind what the session is doing. Refused at once, or events follow.
  virtual Answer<std::unique_ptr<ExecutionHandle>> execute(const Tenant& tenant,
                                                           std::string_view id, ExecuteWish wish,
                                                           ExecutionSink sink) = 0;
  // As execute(), without a container: files made come with their content. A service that offers
  // no such thing answers kUnavailable, as this one does.
  virtual Answer<std::unique_ptr<ExecutionHandle>> execute_once(const Tenant& /*tenant*/,
                                                                const OnceWish& /*wish*/,
                                                                const ExecutionSink& /*sink*/) {
    return tl::unexpected<Refusal>({Refusal::Kind::kUnavailable,
                                    "one-shot executions are not offered here; make a container",
                                    ""});
  }
  // Interrupts what runs now; kInvalid when nothing does.
  virtual Answer<void> interrupt(const Tenant& tenant, std::string_view id) = 0;

  // Executions that are asked for from now on find the file there. `done` is called now, or from
  // the loop once it is.
  using FileDone = std::function<void(Answer<File>)>;
  virtual void put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                        Content content, FileDone done) = 0;
  // Copies a file of the same tenant, of any container, into this one, likewise. A service that
  // cannot answers kNotFound, as this one does.
  virtual void copy_file(const Tenant& /*tenant*/, std::string_view /*id*/,
                         std::string_view /*file_id*/, const FileDone& done) {
    done(tl::unexpected<Refusal>({Refusal::Kind::kNotFound,
                                  "there is no file with this id; upload it by multipart/form-data",
                                  "file_id"}));
  }
  virtual Answer<Listing<File>> files(const Tenant& tenant, std::string_view id,
                                      const Page& page) = 0;
  virtual Answer<File> file(const Tenant& tenant, std::string_view id,
                            std::string_view file_id) = 0;
  // By its absolute path in the container, at the latest look: while code runs there is none. A
  // service that cannot answers kNotFound, as this one does.
  virtual Answer<File> file_at(const Tenant& /*tenant*/, std::string_view /*id*/,
                               std::string_view /*path*/) {
    return tl::unexpected<Refusal>(
        {Refusal::Kind::kNotFound, "files are not found by their path here", "path"});
  }
  // All of it: at most the policy's max_file.
  virtual Answer<std::string> content(const Tenant& tenant, std::string_view id,
                                      std::string_view file_id) = 0;
  virtual Answer<void> remove_file(const Tenant& tenant, std::string_view id,
                                   std::string_view file_id) = 0;

  // Of the policies that are in use by now.
  [[nodiscard]] virtual std::vector<Preload> preloads() const { return {}; }
  // What was run in a container of the tenant's, also in one that is gone, as far as it is kept.
  // `done` is called now, or from the loop.
  using TraceDone = std::function<void(Answer<TraceText>)>;
  virtual void trace(const Tenant& /*tenant*/, std::string_view /*id*/, const TraceWish& /*wish*/,
                     const TraceDone& done) {
    done(refuse(Refusal::Kind::kNotFound, "this server keeps no trace"));
  }
  // Why nothing new may begin, evaluations included; nullopt: it may.
  virtual std::optional<Refusal> stopped() { return std::nullopt; }
  // To be counted and traced; `then` is called now, or from the loop once that is done.
  virtual void evaluated(const Tenant& /*tenant*/, const Evaluation& /*evaluation*/,
                         const std::function<void()>& then) {
    then();
  }
  // Puts in what is looked at rather than counted: levels, sizes.
  virtual void measure(Metrics& /*metrics*/) const {}

  // The largest body that put_file may be given, for the adapter's own limit.
  [[nodiscard]] virtual jail::Bytes max_file() const = 0;
};

}  // namespace runner
