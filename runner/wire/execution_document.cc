#include "runner/wire/execution_document.h"

#include <algorithm>

#include "runner/wire/events_json.h"
#include "runner/wire/outcome_parts.h"
#include "runner/wire/request_fields.h"
#include "runner/wire/rich_json.h"

namespace runner::wire {

void ExecutionDocument::add_output(std::string& to, Stream& cut, const std::string& bytes) {
  const std::uint64_t room = limit_.value - held_;
  if (bytes.size() > room) cut.truncated = true;
  to.append(bytes, 0, room);
  held_ += std::min<std::uint64_t>(room, bytes.size());
}

void ExecutionDocument::add(const ExecutionEvent& event) {
  if (const auto* begun = std::get_if<Begun>(&event)) {
    begun_ = *begun;
  } else if (const auto* output = std::get_if<Output>(&event)) {
    const bool is_out = output->to == Output::To::kOut;
    add_output(is_out ? out_ : err_, is_out ? out_cut_ : err_cut_, output->bytes);
  } else if (const auto* rich = std::get_if<Rich>(&event)) {
    std::uint64_t size = 0;
    for (const auto& [mime, content] : rich->data) size += mime.size() + content.size();
    if (size > limit_.value - held_) {
      ++dropped_;
      return;
    }
    held_ += size;
    results_.push_back(*rich);
  } else if (const auto* raised = std::get_if<Raised>(&event)) {
    raised_ = *raised;
  } else if (const auto* finished = std::get_if<Finished>(&event)) {
    finished_ = *finished;
    finished_->outcome.out.truncated |= out_cut_.truncated;
    finished_->outcome.err.truncated |= err_cut_.truncated;
  }
}

std::string ExecutionDocument::text() const {
  const Finished finished = finished_.value_or(Finished{});
  json::object object{
      {"object", "execution"}, {"id", begun_.execution_id}, {"execution_count", begun_.number}};
  add_bytes(object, "stdout", out_, finished.outcome.out);
  add_bytes(object, "stderr", err_, finished.outcome.err);
  json::array results;
  for (const Rich& rich : results_) results.push_back(rich_object(rich));
  object["results"] = std::move(results);
  object["results_dropped"] = dropped_ + finished.results_dropped;
  object["error"] = raised_ ? json::value(raised_object(*raised_)) : json::value(nullptr);
  for (auto& member : finished_object(finished)) object.insert(member);
  return to_ascii(object);
}

}  // namespace runner::wire
