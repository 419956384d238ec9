#include "runner/service/recorded_run.h"

#include <utility>

#include "runner/text.h"

namespace runner {
namespace {

constexpr std::size_t kMostTitle = 80;
constexpr std::size_t kMostTypeName = 128;

std::string cut(const std::string& text) {
  if (text.size() <= trace::kMostText) return text;
  return std::string(without_partial_character(std::string_view(text).substr(0, trace::kMostText)));
}

}  // namespace

void RecordedRun::Gathered::add(std::string_view more) {
  digest.add(more);
  bytes += more.size();
  if (text.size() < trace::kMostText) text += more.substr(0, trace::kMostText - text.size());
}

trace::Traced RecordedRun::Gathered::take() {
  if (bytes == 0) return {};
  if (bytes > text.size()) text.resize(without_partial_character(text).size());
  return {std::move(text), bytes, digest.hex()};
}

void RecordedRun::add(const ExecutionEvent& event) {
  if (const auto* begun = std::get_if<Begun>(&event)) {
    begun_ = true;
    record_.id = begun->execution_id;
    record_.number = begun->number;
    record_.time_us = trace::now_us();
  } else if (const auto* output = std::get_if<Output>(&event)) {
    (output->to == Output::To::kOut ? out_ : err_).add(output->bytes);
  } else if (const auto* rich = std::get_if<Rich>(&event)) {
    add_result(*rich);
  } else if (const auto* raised = std::get_if<Raised>(&event)) {
    record_.error =
        trace::TracedError{cut(raised->name), cut(raised->value), cut(raised->traceback)};
  }
}

void RecordedRun::add_result(const Rich& rich) {
  trace::TracedResult result;
  result.is_main = rich.is_main;
  for (const auto& [mime, content] : rich.data) {
    if (mime.size() > kMostTypeName) {
      ++record_.results_dropped;
      continue;
    }
    const bool fits = content.size() <= trace::kMostResult &&
                      result_bytes_ + content.size() <= trace::kMostResults;
    if (fits) result_bytes_ += content.size();
    // Half a picture is none: all of it or its hash alone.
    result.data[mime] = {fits ? content : "", content.size(), trace::sha256(content)};
  }
  record_.results.push_back(std::move(result));
}

trace::Record RecordedRun::finish(const Finished& finished) {
  const Outcome& outcome = finished.outcome;
  record_.ran = begun_;
  record_.out = out_.take();
  record_.err = err_.take();
  record_.outcome = word_text(outcome.word);
  record_.ending = ending_of(outcome);
  record_.text = outcome.text;
  record_.exit_code = outcome.exit_code;
  record_.state_preserved = outcome.state_preserved;
  record_.out_truncated = outcome.out.truncated;
  record_.err_truncated = outcome.err.truncated;
  record_.usage = outcome.usage;
  record_.denied = finished.denied;
  for (const File& file : finished.files) record_.outputs.push_back(traced_file(file));
  return std::move(record_);
}

void describe(trace::Record& record, const Evaluation& evaluation) {
  record.code = evaluation.expression;
  record.title = title_of(evaluation.expression);
  record.input = evaluation.sources;
  record.ending = evaluation.ending;
  const bool refused = evaluation.ending == Ending::kRefusal;
  const bool declined = evaluation.ending == Ending::kDecline;
  record.outcome = word_text(refused ? Word::kRefused : declined ? Word::kDeclined : Word::kOk);
  if (refused) record.text = evaluation.text;
  const auto traced = [](const std::string& text) {
    return trace::Traced{text, text.size(), trace::sha256(text)};
  };
  trace::TracedResult result{true, {{"application/json", traced(evaluation.reply)}}};
  if (!refused && !declined) result.data["text/plain"] = traced(evaluation.text);
  record.results.push_back(std::move(result));
}

std::string owner_of(const Tenant& tenant) {
  return tenant.empty() ? "" : trace::sha256("sandglass tenant\n" + tenant).substr(0, 16);
}

std::string title_of(std::string_view code) {
  constexpr std::string_view kBlank = " \t\r\n#/";
  const std::size_t begin = code.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return "";
  std::string_view line = code.substr(begin, code.find('\n', begin) - begin);
  if (line.size() > kMostTitle) line = without_partial_character(line.substr(0, kMostTitle));
  while (!line.empty() && kBlank.find(line.back()) != std::string_view::npos) line.remove_suffix(1);
  return to_utf8(line);
}

trace::TracedFile traced_file(const File& file) { return {file.path, file.sha256, file.bytes}; }

}  // namespace runner
