#include "runner/mcp/execution_result.h"

#include <algorithm>

#include "runner/mcp/content.h"
#include "runner/mcp/resource.h"
#include "runner/text.h"
#include "runner/wire/outcome_parts.h"
#include "runner/wire/rich_json.h"

namespace runner::mcp {
namespace {

constexpr std::size_t kTail = 512;
constexpr std::size_t kShownLine = 120;
constexpr std::size_t kMostLeftOut = 10;  // sentences; the rest as a number
constexpr std::size_t kMostSkipped = 20;

std::string size_of(std::uint64_t bytes) { return size_text(jail::Bytes{bytes}); }

void add_section(std::string& text, const char* title, std::string_view content) {
  if (content.empty()) return;
  text += std::string("\n--- ") + title + "\n" + std::string(content);
  if (!content.ends_with('\n')) text += '\n';
}

void note_stream(std::vector<std::string>& notes, const char* name, std::string_view bytes,
                 const Stream& stream) {
  if (stream.truncated) {
    notes.push_back(std::string(name) + " is cut: the first " + size_of(bytes.size()) + " of " +
                    size_of(stream.produced) +
                    " are here. Print less, or write to a file and read it in pieces");
  }
  if (!is_utf8(bytes)) {
    notes.push_back(std::string(name) + " is not UTF-8: U+FFFD stands for each wrong byte");
  }
}

}  // namespace

const char* state_text(const Outcome& outcome) noexcept {
  return outcome.state_preserved ? "variables are kept" : "variables are lost, files are kept";
}

void ExecutionResult::Kept::add(std::string_view more) {
  const std::size_t room = kMostStream - bytes.size();
  if (more.size() > room) is_cut = true;
  bytes.append(more.substr(0, room));
}

void ExecutionResult::add(const ExecutionEvent& event) {
  if (const auto* begun = std::get_if<Begun>(&event)) begun_ = *begun;
  if (const auto* output = std::get_if<Output>(&event)) add_output(*output);
  if (const auto* rich = std::get_if<Rich>(&event)) add_rich(*rich);
  if (const auto* raised = std::get_if<Raised>(&event)) raised_ = *raised;
  if (const auto* finished = std::get_if<Finished>(&event)) {
    finished_ = *finished;
    finished_->outcome.out.truncated |= out_.is_cut;
    finished_->outcome.err.truncated |= err_.is_cut;
  }
}

void ExecutionResult::add_output(const Output& output) {
  (output.to == Output::To::kOut ? out_ : err_).add(output.bytes);
  const std::string_view bytes = output.bytes;
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
}

bool ExecutionResult::add_image(const std::string& mime_type, const std::string& base64) {
  // Clients refuse a whole result for one image that is not base64; the code may send anything.
  const bool is_good = base64.size() <= kMostImages - held_by_images_ && bytes_from_base64(base64);
  if (!is_good) return false;
  held_by_images_ += base64.size();
  images_.push_back({mime_type, base64});
  return true;
}

void ExecutionResult::add_rich(const Rich& rich) {
  const auto leave_out = [this](const std::string& what) {
    if (++left_out_total_ <= kMostLeftOut) left_out_.push_back(what);
  };
  const std::string number = std::to_string(results_.size() + 1);
  Rich kept{rich.is_main, {}};
  json::array shown;
  for (const auto& [mime_type, content] : rich.data) {
    const std::string what = printable(mime_type.substr(0, 64)) + " of result " + number + " (" +
                             size_of(content.size());
    if (is_image_type(mime_type)) {
      if (add_image(mime_type, content)) {
        shown.push_back(json::value(mime_type));
      } else {
        leave_out(what + ") is left out: too large, or not base64. savefig() puts it into a file");
      }
    } else if (content.size() > kMostResults - held_by_results_) {
      leave_out(what + ") is left out: too large. Write it to a file");
    } else {
      held_by_results_ += content.size();
      kept.data.emplace(mime_type, content);
    }
  }
  const auto plain = kept.data.find("text/plain");
  // Of a figure the text is but its name: the image says more.
  if (plain != kept.data.end() && shown.empty()) plain_.push_back(to_utf8(plain->second));
  if (results_.size() >= 1000) return leave_out("result " + number + " and others are left out");
  json::object object = wire::rich_object(kept);
  object["images"] = std::move(shown);
  results_.push_back(std::move(object));
}

std::string ExecutionResult::last_line() const {
  std::string_view text = tail_;
  while (text.ends_with('\n')) text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') + 1);
  return printable(without_partial_character(text.substr(0, kShownLine)));
}

void ExecutionResult::add_own_notes(std::vector<std::string>& notes) const {
  const Outcome& outcome = finished_->outcome;
  note_stream(notes, "stdout", out_.bytes, outcome.out);
  note_stream(notes, "stderr", err_.bytes, outcome.err);
  notes.insert(notes.end(), left_out_.begin(), left_out_.end());
  if (left_out_total_ > kMostLeftOut) {
    notes.push_back(std::to_string(left_out_total_ - kMostLeftOut) + " more are left out");
  }
  if (finished_->results_dropped > 0)
    notes.push_back(std::to_string(finished_->results_dropped) +
                    " results are left out: one execution gives 256, of 64M in all");
  std::size_t named = 0;
  for (const Skipped& file : finished_->skipped) {
    if (++named > kMostSkipped) break;
    notes.push_back(printable(file.path) + " is not offered: " + printable(file.reason));
  }
  if (finished_->skipped.size() > kMostSkipped) {
    notes.push_back(std::to_string(finished_->skipped.size() - kMostSkipped) +
                    " more files are not offered");
  }
}

std::string ExecutionResult::text(const Place& place, const std::vector<std::string>& notes) const {
  const Outcome& outcome = finished_->outcome;
  std::string text = word_text(outcome.word);
  text += " in " + duration_text(outcome.usage.wall);
  if (!outcome.text.empty()) text += ": " + to_utf8(outcome.text);
  if (outcome.word != Word::kOk) text += std::string("; ") + state_text(outcome);
  text += "\nsession_id: " + place.session_id + (place.is_new ? " (new)" : "") + "\n";
  if (!finished_->denied.empty()) {
    std::uint64_t total = 0;
    for (const DeniedEntry& entry : finished_->denied) total += entry.count;
    text += to_utf8(denied_line(finished_->denied, total)) + "\n";
  }
  for (const std::string& note : notes) text += note + ".\n";
  for (const File& file : finished_->files) {
    text += "file " + printable(file.path) + " (" + size_of(file.bytes) + ")\n";
  }
  for (const std::string& plain : plain_) add_section(text, "result", plain);
  if (raised_) {
    const std::string line = raised_->name + ": " + raised_->value;
    add_section(
        text, "error",
        to_utf8(raised_->traceback.empty() ? line : raised_->traceback).substr(0, kMostStream));
  }
  const auto shown = [](const Kept& kept) {
    return to_utf8(kept.is_cut ? without_partial_character(kept.bytes) : kept.bytes);
  };
  add_section(text, "stdout", shown(out_));
  add_section(text, "stderr", shown(err_));
  return text;
}

json::object ExecutionResult::object(const Place& place, std::vector<std::string> notes) const {
  add_own_notes(notes);
  const Outcome& outcome = finished_->outcome;
  ToolResult result;
  result.is_error = outcome.word != Word::kOk;
  json::object& structured = result.structured;
  structured = {{"session_id", place.session_id},
                {"session_is_new", place.is_new},
                {"execution_count", begun_.number}};
  for (auto& member : wire::outcome_object(outcome)) structured.insert(member);
  const auto text_of = [](const Kept& kept, const Stream& stream) {
    return to_utf8(stream.truncated ? without_partial_character(kept.bytes) : kept.bytes);
  };
  structured["stdout"] = text_of(out_, outcome.out);
  structured["stderr"] = text_of(err_, outcome.err);
  structured["results"] = results_;
  structured["error"] = raised_ ? json::value(wire::raised_object(*raised_)) : nullptr;
  structured["denied"] = wire::denied_array(finished_->denied);
  json::array files;
  for (const File& file : finished_->files) files.push_back(file_entry(file));
  structured["files"] = std::move(files);
  structured["expires_at"] =
      finished_->expires_at == 0 ? json::value(nullptr) : json::value(finished_->expires_at);
  json::array told;
  for (const std::string& note : notes) told.push_back(json::value(to_utf8(note)));
  structured["notes"] = std::move(told);
  result.add_text(text(place, notes));
  for (const Image& image : images_) result.add_image(image.base64, image.mime_type);
  for (const File& file : finished_->files) result.content.push_back(resource_link(file));
  return result.object();
}

}  // namespace runner::mcp
