#include "runner/trace/page.h"

#include "runner/text.h"
#include "runner/trace/digest.h"
#include "runner/trace/markdown.h"

namespace runner::trace {
namespace {

std::string cut_note(const Traced& traced) {
  if (traced.bytes == traced.text.size()) return "";
  return "(the first " + std::to_string(traced.text.size()) + " of " +
         std::to_string(traced.bytes) + " bytes; sha256 of all: `" + traced.sha256 + "`)\n\n";
}

std::string result_text(const TracedResult& result) {
  for (const char* image : {"image/png", "image/jpeg"}) {
    const auto found = result.data.find(image);
    if (found == result.data.end() || found->second.text.empty()) continue;
    if (!bytes_from_base64(found->second.text)) continue;  // no picture, whatever it says
    return "![picture](data:" + std::string(image) + ";base64," + found->second.text + ")\n\n";
  }
  const auto text = result.data.find("text/plain");
  if (text != result.data.end()) return fenced("", text->second.text) + cut_note(text->second);
  std::string all;
  for (const auto& [mime, traced] : result.data)
    all += "A result as " + plain(mime) + ", " + std::to_string(traced.bytes) + " bytes, sha256 `" +
           traced.sha256 + "`\n\n";
  return all;
}

std::string files_text(const char* what, const std::vector<TracedFile>& files) {
  std::string all;
  for (const TracedFile& file : files)
    all += std::string("- ") + what + ": " + plain(file.path) + ", " + std::to_string(file.bytes) +
           " bytes" + (file.sha256.empty() ? "" : ", sha256 `" + file.sha256 + "`") + "\n";
  return all.empty() ? "" : all + "\n";
}

std::string stream_text(const char* what, const Traced& traced) {
  if (traced.bytes == 0) return "";
  return std::string(what) + ":\n\n" + fenced("", traced.text) + cut_note(traced);
}

std::string run_text(const Record& record) {
  std::string text = fenced(record.language, record.code);
  if (record.input) text += "Input:\n\n" + fenced("", *record.input);
  text += stream_text("Printed", record.out) + stream_text("Printed to stderr", record.err);
  for (const TracedResult& result : record.results) text += result_text(result);
  if (record.error)
    text += "Raised " + plain(record.error->name) + ": " + plain(record.error->value) + "\n\n" +
            fenced("", record.error->traceback);
  text += files_text("made or changed", record.outputs);
  for (const DeniedEntry& entry : record.denied)
    text += "- refused call: " + plain(entry.syscall + "(" + entry.args + ")") + ", " +
            std::to_string(entry.count) + " times\n";
  if (!record.denied.empty()) text += "\n";
  return text + "Ended: " + ending_text(record.ending) + " (" + plain(record.outcome) + ")" +
         (record.text.empty() ? "" : ", " + plain(record.text)) + ", after " +
         std::to_string(record.usage.wall.count()) + " ms. Code sha256 `" + sha256(record.code) +
         "`.\n\n";
}

}  // namespace

std::string unreadable_text(std::size_t unreadable) {
  if (unreadable == 0) return "";
  return std::to_string(unreadable) + (unreadable == 1 ? " record" : " records") +
         " of this session can't be read by this version and " + (unreadable == 1 ? "is" : "are") +
         " left out; without `format` they are shown as they stand.\n";
}

std::string to_page(const std::vector<Record>& records, std::size_t unreadable) {
  if (records.empty()) return unreadable == 0 ? "# Nothing was run\n" : unreadable_text(unreadable);
  const Record& first = records.front();
  std::string page = "# Session " + plain(first.session) + "\n\n" + plain(first.language) +
                     " under the policy " + plain(first.policy.name) + " (sha256 `" +
                     first.policy.sha256 + "`)\n\n";
  for (const Record& record : records) {
    page += "## " + std::to_string(record.seq) + ". " +
            (record.title.empty() ? std::string(kind_text(record.kind)) : plain(record.title)) +
            "\n\n" + time_text(record.time_us) + "\n\n";
    page += runs_code(record.kind)
                ? run_text(record)
                : files_text(record.kind == Kind::kUpload ? "put in" : "removed", record.inputs);
  }
  return page + unreadable_text(unreadable);
}

}  // namespace runner::trace
