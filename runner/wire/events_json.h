// An execution as a stream of lines (NDJSON) or events (SSE), with the types of E2B's code
// interpreter: number_of_executions, stdout, stderr, result, error, and last outcome and
// end_of_execution. Every one has "seq", from 0 without a gap, and "timestamp" (nanoseconds since
// 1970); keep-alives have neither. One object a stream; pure but for the clock given.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>

#include "runner/service.h"
#include "runner/wire/utf8_stream.h"

namespace runner::wire {

enum class StreamForm : std::uint8_t { kLines, kServerSent };

// "application/x-ndjson" or "text/event-stream".
const char* content_type(StreamForm form) noexcept;

// What code that still ran when the server stopped came to.
Finished ended_by_shutdown();

class EventEncoder {
 public:
  using Clock = std::function<std::int64_t()>;  // nanoseconds since 1970
  EventEncoder(StreamForm form, Clock clock) : form_(form), clock_(std::move(clock)) {}

  // Bytes to send; empty where an event ends in the middle of its only character.
  std::string encode(const ExecutionEvent& event);
  [[nodiscard]] std::string keep_alive() const;
  // The end of a stream whose execution the server cannot wait for: an error "ServerShutdown", an
  // outcome "killed" and the end.
  std::string shutdown();

 private:
  std::string on(const Begun& begun);
  std::string on(const Output& output);
  std::string on(const Rich& rich);
  std::string on(const Raised& raised);
  std::string on(const Finished& finished);
  std::string output_event(const char* type, const std::string& bytes);
  std::string rest_of_output();
  std::string event(const char* type, const boost::json::object& members);
  [[nodiscard]] std::string framed(const char* type, const boost::json::object& object) const;

  StreamForm form_;
  Clock clock_;
  std::uint64_t seq_ = 0;
  Utf8Stream out_;
  Utf8Stream err_;
};

// "denied", "files", "skipped" and "expires_at" beside the members of the outcome.
boost::json::object finished_object(const Finished& finished);

}  // namespace runner::wire
