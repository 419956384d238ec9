#include "runner/mcp/tools.h"

#include <algorithm>
#include <array>

#include "runner/mcp/tool_schemas.h"

namespace runner::mcp {
namespace {

struct Entry {
  Tool tool;
  std::string_view name;
  std::string_view title;
  std::string_view annotations;
  std::string_view input;
  std::string_view output;
};

// No tool reaches beyond this server, so openWorldHint is false for all.
constexpr std::string_view kReads =
    R"({"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false})";
constexpr std::string_view kRuns =
    R"({"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false})";
constexpr std::string_view kReplaces =
    R"({"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false})";

constexpr std::array kTools = {
    Entry{Tool::kExecuteCode, "execute_code", "Run code in a sandbox", kRuns, kExecuteInput,
          kExecuteOutput},
    Entry{Tool::kEvaluateExpression, "evaluate_expression", "Evaluate arithmetic", kReads,
          kEvaluateInput, kEvaluateOutput},
    Entry{Tool::kListFiles, "list_files", "List a session's files", kReads, kListInput,
          kListOutput},
    Entry{Tool::kReadFile, "read_file", "Read a session's file", kReads, kReadInput, kReadOutput},
    Entry{Tool::kWriteFile, "write_file", "Write a file into a session", kReplaces, kWriteInput,
          kWriteOutput},
    Entry{Tool::kCloseSession, "close_session", "End a session", kReplaces, kCloseInput,
          kCloseOutput},
};

json::value parsed(std::string_view text) { return json::parse({text.data(), text.size()}); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string description_of(Tool tool, const ToolFacts& facts) {
  switch (tool) {
    case Tool::kExecuteCode:
      return "Runs code in a sandbox (policy " + facts.policy + "; " + joined(facts.languages) +
             ") without a network. Without session_id a new session is made and its id is "
             "returned; give it in later calls to keep variables and files. A session expires "
             "after " +
             facts.idle + " without a call. One execution may take " + facts.wall_time +
             "; at the limit it is interrupted, and the result says whether variables are kept. "
             "Files belong into /mnt/data; new and changed ones come back as links. The value of "
             "the last expression and figures (matplotlib) come back as results. stdout and "
             "stderr are cut at 64K each. Calls that the sandbox refused stand in `denied` with "
             "the line of the policy that would allow them.";
    case Tool::kEvaluateExpression:
      return "Evaluates one arithmetic expression as Python would, and runs no code: numbers, "
             "+ - * / and parentheses, at most 200 characters; whatever else is refused, with the "
             "reason. With `sources`, says which number stands in which source, and which in "
             "none.";
    case Tool::kListFiles:
      return "Lists the files of a session, the newest last, at most 100 a call.";
    case Tool::kReadFile:
      return "Reads a file of a session: text as text, an image as an image, anything else as "
             "base64. At most 64K a call unless max_bytes says otherwise (256K at most); "
             "`truncated` and `bytes` say what is left, `offset` goes on.";
    case Tool::kWriteFile:
      return "Writes a file into a session's /mnt/data and replaces one of that name. Without "
             "session_id a new session is made and its id is returned.";
    case Tool::kCloseSession:
      return "Ends a session at once: what runs in it is killed, its variables and files are "
             "gone.";
  }
  return "";
}

}  // namespace

json::array tool_list(const ToolFacts& facts) {
  json::array list;
  for (const Entry& entry : kTools) {
    json::object tool{{"name", json::string_view(entry.name.data(), entry.name.size())},
                      {"title", json::string_view(entry.title.data(), entry.title.size())},
                      {"description", description_of(entry.tool, facts)},
                      {"inputSchema", parsed(entry.input)},
                      {"outputSchema", parsed(entry.output)},
                      {"annotations", parsed(entry.annotations)}};
    if (entry.tool == Tool::kExecuteCode && !facts.languages.empty()) {
      json::array words;
      for (const std::string& language : facts.languages) words.push_back(json::value(language));
      tool.at("inputSchema").at("properties").at("language").as_object()["enum"] = words;
    }
    list.push_back(std::move(tool));
  }
  return list;
}

bool tool_named(std::string_view name, Tool& tool) noexcept {
  const auto* const found = std::find_if(kTools.begin(), kTools.end(),
                                         [&](const Entry& entry) { return entry.name == name; });
  if (found == kTools.end()) return false;
  tool = found->tool;
  return true;
}

std::string instructions(const ToolFacts& facts) {
  return "Sandglass runs code that nobody has read, confined. Use execute_code for computing, data "
         "and charts (" +
         joined(facts.languages) +
         "; no network). Keep the session_id it returns: variables and files stay with it until it "
         "is idle for " +
         facts.idle +
         ". Use evaluate_expression where only arithmetic is needed. `outcome` says how code "
         "ended; `state_preserved` says whether its variables are still there.";
}

}  // namespace runner::mcp
