#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "runner/service/session_execution.h"

namespace runner {
namespace {

namespace json = boost::json;

// Results of one execution: more is cut off, and said.
constexpr std::size_t kMostResults = 256;
constexpr std::size_t kMostResultBytes = std::size_t{64} << 20U;
// Of each stream, from between two executions.
constexpr std::size_t kMostLate = std::size_t{64} << 10U;

std::string text_in(const json::object& frame, const char* key) {
  const auto* value = frame.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_in(const json::object& frame, const char* key) {
  const auto* value = frame.if_contains(key);
  if (value == nullptr) return 0;
  if (value->is_int64() && value->get_int64() >= 0)
    return static_cast<std::uint64_t>(value->get_int64());
  return value->is_uint64() ? value->get_uint64() : 0;
}

}  // namespace

// A driver that asks waits for us: all that it wrote before this frame has been passed on by now.
void Session::on_frame(const json::object& frame) {
  const auto self = shared_from_this();  // a sink may let go of us
  take(frame);
  const std::uint64_t mark = number_in(frame, "mark");
  if (mark != 0 && interpreter_)
    interpreter_->answer(R"({"op":"passed","n":)" + std::to_string(mark) + "}");
}

void Session::take(const json::object& frame) {
  if (!running_ || running_->ended || number_in(frame, "id") != running_->number) return;
  Execution& execution = *running_;
  const std::string event = text_in(frame, "ev");
  if (event == "begin" && !execution.begun) {
    execution.begun = true;
    tell(Begun{execution.id, number_in(frame, "n")});
    tell_early();
    if (running_ && execution.act != Act::kNone) press();
  } else if (event == "result") {
    take_result(frame);
  } else if (event == "error") {
    tell(Raised{text_in(frame, "name"), text_in(frame, "value"), text_in(frame, "traceback")});
  } else if (event == "end" && !execution.killed) {
    execution.ended = true;
    execution.status = text_in(frame, "status");
    execution.code = static_cast<int>(std::min<std::uint64_t>(number_in(frame, "code"), 255));
    deadline_.cancel();
    pressing_.cancel();
    if (execution.act == Act::kNone)
      interpreter_->ask_usage();
    else
      interpreter_->ask_usage_behind();
  }
}

void Session::take_result(const json::object& frame) {
  Rich rich;
  const auto* main = frame.if_contains("main");
  rich.is_main = main != nullptr && main->is_bool() && main->get_bool();
  std::size_t bytes = 0;
  if (const auto* data = frame.if_contains("data"); data != nullptr && data->is_object()) {
    for (const auto& [type, value] : data->get_object()) {
      if (!value.is_string() || rich.data.size() >= 16) continue;
      bytes += value.get_string().size();
      rich.data[std::string(type)] = std::string(value.get_string());
    }
  }
  Execution& execution = *running_;
  if (execution.results >= kMostResults || bytes > kMostResultBytes - execution.result_bytes) {
    ++execution.results_dropped;
    return;
  }
  ++execution.results;
  execution.result_bytes += bytes;
  tell(rich);
}

void Session::on_output(StreamOf stream, std::string_view bytes) {
  const bool is_out = stream == StreamOf::kOut;
  if (!running_) {
    // What threads and processes that were left behind write comes with the next execution.
    std::string& late = is_out ? late_out_ : late_err_;
    if (has_state_) late += bytes.substr(0, kMostLate - late.size());
    return;
  }
  Stream& counted = is_out ? running_->out : running_->err;
  const std::uint64_t cap = plan_->policy.limits.output.value;
  const std::uint64_t room = cap > counted.produced ? cap - counted.produced : 0;
  counted.produced += bytes.size();
  counted.truncated = counted.truncated || bytes.size() > room;
  if (room == 0 || bytes.empty()) return;
  Output output{is_out ? Output::To::kOut : Output::To::kErr,
                std::string(bytes.substr(0, static_cast<std::size_t>(room)))};
  if (running_->begun) return tell(output);
  running_->early.push_back(std::move(output));
}

void Session::take_late() {
  on_output(StreamOf::kOut, std::exchange(late_out_, ""));
  on_output(StreamOf::kErr, std::exchange(late_err_, ""));
}

void Session::tell_early() {
  const auto execution = running_;
  if (!execution) return;
  for (const Output& output : std::exchange(execution->early, {})) tell(output);
}

// The execution has come to its own end, and this is what it took.
void Session::on_usage(const jail::Ended& so_far) {
  if (!running_ || !running_->ended) return;
  jail::Ended ended = so_far;
  ended.exited = true;
  const bool failed = running_->status == "error" || running_->status == "interrupted";
  ended.wait_status = (running_->status == "exit" ? running_->code : failed ? 1 : 0) << 8;
  Outcome outcome = judge(ended);
  outcome.state_preserved = true;
  if (outcome.word == Word::kExited && failed) {
    outcome.word = Word::kRaised;
    outcome.status.reset();
  }
  if (running_->status != "exit") outcome.status.reset();
  finish(std::move(outcome));
}

Outcome Session::judge(const jail::Ended& ended) {
  Facts facts;
  facts.ended = ended;
  facts.act = running_->act;
  facts.signal = facts.act == Act::kInterrupt ? SIGINT : 0;
  // A workdir that was full before explains nothing: code meets it, and says so, or does not.
  if (const DiskState disk = disk_state(workdir_); disk != running_->disk) facts.disk = disk;
  facts.out = running_->out;
  facts.err = running_->err;
  facts.wall = std::chrono::duration_cast<jail::Millis>(Clock::now() - running_->started);
  LimitsInForce limits{plan_->policy.limits, plan_->policy.files.workdir};
  if (running_->wish.timeout)
    limits.limits.wall_time = std::min(limits.limits.wall_time, *running_->wish.timeout);
  return decide(facts, limits);
}

}  // namespace runner
