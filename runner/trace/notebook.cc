#include "runner/trace/notebook.h"

#include <boost/json.hpp>

#include "runner/text.h"
#include "runner/trace/digest.h"
#include "runner/trace/markdown.h"
#include "runner/trace/page.h"

namespace runner::trace {
namespace {

namespace json = boost::json;

// nbformat allows a string where it shows a list of lines.
json::object stream(const char* name, const Traced& traced) {
  std::string text = to_utf8(traced.text);
  if (traced.bytes > traced.text.size())
    text += "\n[" + std::to_string(traced.bytes) + " bytes in all; the trace holds the first " +
            std::to_string(traced.text.size()) + "]\n";
  return {{"output_type", "stream"}, {"name", name}, {"text", text}};
}

json::value form_of(const std::string& mime, const std::string& content) {
  if (mime == "application/json" || mime.ends_with("+json")) {
    json::error_code error;
    json::value value = json::parse(content, error);
    if (!error) return value;
  }
  return json::value(to_utf8(content));
}

json::object result(const TracedResult& result, std::uint64_t number) {
  json::object data;
  for (const auto& [mime, traced] : result.data) {
    if (traced.text.size() == traced.bytes) {
      data[to_utf8(mime)] = form_of(mime, traced.text);
    } else if (!data.contains("text/plain")) {
      data["text/plain"] = "[" + to_utf8(mime) + " of " + std::to_string(traced.bytes) +
                           " bytes, more than the trace holds]";
    }
  }
  json::object output{{"output_type", result.is_main ? "execute_result" : "display_data"},
                      {"metadata", json::object{}},
                      {"data", std::move(data)}};
  if (result.is_main) output["execution_count"] = number;
  return output;
}

json::object error(const std::string& name, const std::string& value,
                   const std::string& traceback) {
  json::array lines;
  const std::string text = to_utf8(traceback);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return {{"output_type", "error"},
          {"ename", to_utf8(name)},
          {"evalue", to_utf8(value)},
          {"traceback", std::move(lines)}};
}

json::array outputs_of(const Record& record) {
  json::array outputs;
  if (record.out.bytes > 0) outputs.push_back(stream("stdout", record.out));
  if (record.err.bytes > 0) outputs.push_back(stream("stderr", record.err));
  for (const TracedResult& one : record.results) outputs.push_back(result(one, record.number));
  if (record.error) {
    outputs.push_back(error(record.error->name, record.error->value, record.error->traceback));
  } else if (record.ending != Ending::kOk) {
    const std::string text = std::string(ending_text(record.ending)) + ": " + record.text;
    outputs.push_back(error(record.outcome, record.text, text));
  }
  return outputs;
}

json::object facts_of(const Record& record) {
  json::array outputs;
  for (const TracedFile& file : record.outputs)
    outputs.push_back(json::object{{"path", to_utf8(file.path)}, {"sha256", file.sha256}});
  json::array denied;
  for (const DeniedEntry& entry : record.denied)
    denied.push_back(json::object{{"syscall", entry.syscall}, {"count", entry.count}});
  return {{"id", record.id},
          {"time", time_text(record.time_us)},
          {"ending", ending_text(record.ending)},
          {"outcome", record.outcome},
          {"code_sha256", sha256(record.code)},
          {"policy", record.policy.name},
          {"policy_sha256", record.policy.sha256},
          {"wall_ms", record.usage.wall.count()},
          {"outputs", std::move(outputs)},
          {"denied", std::move(denied)}};
}

json::object code_cell(const Record& record) {
  return {{"cell_type", "code"},
          {"execution_count", record.number > 0 ? json::value(record.number) : json::value()},
          {"metadata", json::object{{"sandglass", facts_of(record)}}},
          {"source", to_utf8(record.code)},
          {"outputs", outputs_of(record)}};
}

json::object text_cell(const std::string& text) {
  return {{"cell_type", "markdown"}, {"metadata", json::object{}}, {"source", text}};
}

json::object file_cell(const Record& record) {
  std::string text = record.kind == Kind::kUpload ? "Put in:" : "Removed:";
  for (const TracedFile& file : record.inputs)
    text += "\n- " + plain(file.path) + ", " + std::to_string(file.bytes) + " bytes" +
            (file.sha256.empty() ? "" : ", sha256 `" + file.sha256 + "`");
  return text_cell(text);
}

json::object about(const std::string& language) {
  const bool node = language == "node";
  const std::string name = node ? "javascript" : language.empty() ? "python" : language;
  const std::string kernel = name == "python" ? "python3" : name;
  return {{"kernelspec", json::object{{"display_name", name == "python" ? "Python 3" : name},
                                      {"language", name},
                                      {"name", kernel}}},
          {"language_info", json::object{{"name", name}}}};
}

}  // namespace

std::string to_notebook(const std::vector<Record>& records, std::size_t unreadable) {
  json::array cells;
  for (const Record& record : records) {
    cells.push_back(runs_code(record.kind) ? code_cell(record) : file_cell(record));
  }
  if (const std::string missing = unreadable_text(unreadable); !missing.empty())
    cells.push_back(text_cell(missing));
  const json::object notebook{{"nbformat", 4},
                              {"nbformat_minor", 4},
                              {"metadata", about(records.empty() ? "" : records.front().language)},
                              {"cells", std::move(cells)}};
  return json::serialize(notebook) + "\n";
}

}  // namespace runner::trace
