#include "runner/wire/events_json.h"

#include "runner/text.h"
#include "runner/wire/files_json.h"
#include "runner/wire/outcome_parts.h"
#include "runner/wire/request_fields.h"
#include "runner/wire/rich_json.h"

namespace runner::wire {
namespace {

json::array files_array(const std::vector<File>& files) {
  json::array list;
  for (const File& file : files) list.push_back(file_object(file));
  return list;
}

json::array skipped_array(const std::vector<Skipped>& skipped) {
  json::array list;
  for (const Skipped& file : skipped) {
    json::object object = path_object(file.path);
    object["reason"] = to_utf8(file.reason);
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

const char* content_type(StreamForm form) noexcept {
  return form == StreamForm::kLines ? "application/x-ndjson" : "text/event-stream";
}

json::object finished_object(const Finished& finished) {
  json::object object = outcome_object(finished.outcome);
  object["denied"] = denied_array(finished.denied);
  object["files"] = files_array(finished.files);
  object["skipped"] = skipped_array(finished.skipped);
  object["results_dropped"] = finished.results_dropped;
  object["expires_at"] =
      finished.expires_at == 0 ? json::value(nullptr) : json::value(finished.expires_at);
  return object;
}

std::string EventEncoder::encode(const ExecutionEvent& event) {
  return std::visit([this](const auto& one) { return on(one); }, event);
}

std::string EventEncoder::keep_alive() const {
  return framed("keepalive", json::object{{"type", "keepalive"}});
}

Finished ended_by_shutdown() {
  Finished finished;
  finished.outcome.word = Word::kKilled;
  finished.outcome.exit_code = 137;
  finished.outcome.text = "the server is shutting down";
  return finished;
}

std::string EventEncoder::shutdown() {
  const Finished finished = ended_by_shutdown();
  std::string text = rest_of_output();  // one after the other: each takes a number
  text += on(Raised{"ServerShutdown", finished.outcome.text, ""});
  return text += on(finished);
}

std::string EventEncoder::on(const Begun& begun) {
  return event("number_of_executions",
               {{"execution_count", begun.number}, {"execution_id", begun.execution_id}});
}

std::string EventEncoder::on(const Output& output) {
  const bool is_out = output.to == Output::To::kOut;
  return output_event(is_out ? "stdout" : "stderr", (is_out ? out_ : err_).take(output.bytes));
}

std::string EventEncoder::on(const Rich& rich) { return event("result", rich_object(rich)); }

std::string EventEncoder::on(const Raised& raised) { return event("error", raised_object(raised)); }

std::string EventEncoder::on(const Finished& finished) {
  std::string text = rest_of_output();
  text += event("outcome", finished_object(finished));
  return text += event("end_of_execution", {});
}

std::string EventEncoder::output_event(const char* type, const std::string& bytes) {
  if (bytes.empty()) return "";
  json::object members;
  add_bytes(members, "text", bytes, {});
  return event(type, members);
}

std::string EventEncoder::rest_of_output() {
  std::string text = output_event("stdout", out_.rest());
  return text += output_event("stderr", err_.rest());
}

std::string EventEncoder::event(const char* type, const json::object& members) {
  json::object object{{"type", type}, {"seq", seq_++}};
  for (const auto& member : members) object.insert(member);
  object["timestamp"] = clock_();
  return framed(type, object);
}

std::string EventEncoder::framed(const char* type, const json::object& object) const {
  const std::string text = to_ascii(object);
  if (form_ == StreamForm::kLines) return text + "\n";
  // HTML, "Server-sent events": the text has no line end of its own, so one data line is enough.
  return std::string("event: ") + type + "\ndata: " + text + "\n\n";
}

}  // namespace runner::wire
