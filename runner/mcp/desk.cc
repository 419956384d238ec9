#include "runner/mcp/desk.h"

#include <algorithm>

#include "runner/mcp/arguments.h"
#include "runner/mcp/content.h"
#include "runner/mcp/execution.h"
#include "runner/mcp/file_tools.h"
#include "runner/text.h"

namespace runner::mcp {
namespace {

json::object verdict_result(const std::string& verdict) {
  ToolResult result;
  result.structured = json::parse(verdict).as_object();
  // A refused text is a tool that could not do what it was asked; a declined one is an answer.
  result.is_error = result.structured.contains("refused");
  result.add_text(verdict);
  return result.object();
}

json::object templates() {
  return {{"resourceTemplates",
           json::array{json::object{
               {"uriTemplate", "sandglass://{session_id}/mnt/data/{+path}"},
               {"name", "session file"},
               {"title", "A file of a session"},
               {"description", "Files that code has made or that were written into a session."}}}}};
}

tl::unexpected<Failure> no_method(const Request& request) {
  return fail(Code::kNoMethod, "there is no method '" + printable(request.method.substr(0, 64)) +
                                   "' in this revision");
}

}  // namespace

std::shared_ptr<Call> Desk::begin(Request request, const std::shared_ptr<Outlet>& outlet) {
  if (request.method == "tools/call") return call_tool(std::move(request), outlet);
  auto result = answer_now(request);
  if (result) {
    shared_.answer(request, *outlet, std::move(*result));
  } else {
    outlet->answer(failure_text(request.id, result.error()), result.error().code);
  }
  return nullptr;
}

tl::expected<json::object, Failure> Desk::answer_now(const Request& request) {
  const bool is_stateless = request.era == Era::kStateless;
  json::object result;
  Keep keep = Keep::kForAnHour;
  if (request.method == "tools/list") {
    result["tools"] = tool_list(shared_.options.facts);
  } else if (request.method == "resources/list") {
    // Files come as links in results; a list of all would put off every session's expiry.
    result["resources"] = json::array();
  } else if (request.method == "resources/templates/list") {
    result = templates();
  } else if (request.method == "resources/read") {
    return read_resource(shared_.service, request);
  } else if (is_stateless && request.method == "server/discover") {
    result = discover_result(shared_.identity);
  } else if (!is_stateless && request.method == "ping") {
    return result;
  } else if (!is_stateless && request.method == "initialize") {
    return initialize_result(request.params, shared_.identity);
  } else {
    return no_method(request);
  }
  cacheable(result, request.era, keep);
  return result;
}

json::object Desk::call_now(Tool tool, const Request& request, const json::object& arguments) {
  Service& service = shared_.service;
  if (tool == Tool::kReadFile) {
    const auto wish = read_arguments(arguments);
    return wish ? read_file(service, request.tenant, *wish) : refusal_result(wish.error(), "");
  }
  const bool is_list = tool == Tool::kListFiles;
  const auto wish = is_list ? list_arguments(arguments) : close_arguments(arguments);
  if (!wish) return refusal_result(wish.error(), "");
  return is_list ? list_files(service, request.tenant, *wish)
                 : close_session(service, request.tenant, *wish);
}

// Counted and traced as over every other door.
void Desk::evaluate(const Request& request, const std::shared_ptr<Outlet>& outlet,
                    const json::object& arguments) {
  Service& service = shared_.service;
  if (const auto refusal = service.stopped())
    return shared_.answer(request, *outlet, refusal_result(*refusal, ""));
  const auto done = wire::evaluate(json::serialize(arguments), shared_.options.grammar);
  if (!done) return shared_.answer(request, *outlet, refusal_result(done.error(), ""));
  service.evaluated(request.tenant, *done,
                    [this, alive = shared_.alive(), request, outlet, verdict = done->reply] {
                      if (alive.expired()) return;
                      shared_.answer(request, *outlet, verdict_result(verdict));
                    });
}

std::shared_ptr<Call> Desk::call_tool(Request request, const std::shared_ptr<Outlet>& outlet) {
  const auto wrong = [&](const std::string& why) {
    outlet->answer(failure_text(request.id, {Code::kInvalidParams, why, {}}), Code::kInvalidParams);
    return nullptr;
  };
  const json::value* const name = request.params.if_contains("name");
  if (name == nullptr || !name->is_string()) return wrong("'name' must name a tool");
  const std::string called(name->get_string());
  Tool tool{};
  if (!tool_named(called, tool)) {
    return wrong("there is no tool '" + printable(called.substr(0, 64)) +
                 "'; tools/list names them");
  }
  json::object arguments;
  if (json::value* const given = request.params.if_contains("arguments")) {
    if (!given->is_object()) return wrong("'arguments' must be an object");
    arguments = std::move(given->get_object());
  }
  const auto refused = [&](const Refusal& refusal) {
    shared_.answer(request, *outlet, refusal_result(refusal, ""));
    return nullptr;
  };
  if (tool == Tool::kExecuteCode) {
    auto wish = execute_arguments(arguments);
    if (!wish) return refused(wish.error());
    const auto call =
        std::make_shared<Execution>(shared_, std::move(request), outlet, std::move(*wish));
    call->begin();
    return call;
  }
  if (tool == Tool::kWriteFile) {
    auto wish = write_arguments(arguments);
    if (!wish) return refused(wish.error());
    const auto call =
        std::make_shared<Writing>(shared_, std::move(request), outlet, std::move(*wish));
    call->begin();
    return call;
  }
  if (tool == Tool::kEvaluateExpression) {
    evaluate(request, outlet, arguments);
    return nullptr;
  }
  shared_.answer(request, *outlet, call_now(tool, request, arguments));
  return nullptr;
}

std::size_t Desk::running() const {
  return static_cast<std::size_t>(
      std::count_if(shared_.live.begin(), shared_.live.end(),
                    [](const auto& call) { return !call->is_given_up(); }));
}

void Desk::cancel_all() {
  const auto live = shared_.live;
  for (const auto& call : live) call->cancel();
}

}  // namespace runner::mcp
