#include "runner/http/handlers.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runner/http/client_execution.h"
#include "runner/http/file_names.h"
#include "runner/http/target.h"
#include "runner/text.h"
#include "runner/wire/evaluate_json.h"
#include "runner/wire/execute_json.h"
#include "runner/wire/files_json.h"
#include "runner/wire/openapi.h"
#include "runner/wire/trace_query.h"

namespace runner::http {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{256} << 10U;  // of a body read on the loop

// The form of a stream that is wanted; nullopt: none. What the request says goes before what the
// Accept header says.
std::optional<wire::StreamForm> stream_form(std::optional<bool> asked, const std::string& accept) {
  const bool events = accept.find("text/event-stream") != std::string::npos;
  const bool lines = accept.find("application/x-ndjson") != std::string::npos;
  if (!asked.value_or(events || lines)) return std::nullopt;
  return events ? wire::StreamForm::kServerSent : wire::StreamForm::kLines;
}

bool is_json(const std::string& content_type) {
  const auto header = parse_header_value(content_type);
  return header && header->value == "application/json";
}

// A page in a browser can send text/plain to anyone without asking; JSON must be called JSON.
bool is_wrongly_typed(const Request& request) {
  const bool has_neither = request.body.empty() && request.content_type.empty();
  return !is_json(request.content_type) && !has_neither;
}

Reply unsupported() {
  return error_reply({415, "send the body with Content-Type: application/json"});
}

template <class T, class ToText>
Reply answer_reply(const Answer<T>& answer, const ToText& to_text) {
  if (!answer) return refusal_reply(answer.error());
  return {200, to_text(*answer)};
}

Reply deleted_reply(const Answer<void>& answer, const std::string& id, const char* object) {
  if (!answer) return refusal_reply(answer.error());
  return {200, wire::deleted_json(id, object)};
}

bool takes_json(Action action) {
  return action == Action::kCreateContainer || action == Action::kExecute ||
         action == Action::kExecuteOnce || action == Action::kEvaluate || action == Action::kMcp;
}

}  // namespace

Reply error_reply(const wire::ErrorBody& error) { return {error.status, wire::error_json(error)}; }

Reply refusal_reply(const Refusal& refusal) {
  Reply reply = error_reply(wire::error_of(refusal));
  if (refusal.retry_after) {
    reply.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after->count()));
  }
  return reply;
}

void Handlers::handle(Request& request, const std::shared_ptr<Exchange>& exchange) {
  if (takes_json(request.action) && is_wrongly_typed(request))
    return exchange->reply(unsupported());
  switch (request.action) {
    case Action::kCreateContainer:
      return create(request, exchange);
    case Action::kExecute:
      return execute(request, exchange);
    case Action::kExecuteOnce:
      return execute_once(request, exchange);
    case Action::kEvaluate:
      return evaluate(request, exchange);
    case Action::kMcp:
      return mcp(request, exchange);
    case Action::kPutFile:
      return put_file(request, exchange);
    case Action::kTrace:
      return trace(request, exchange);
    default:
      return exchange->reply(handle_now(request));
  }
}

Reply Handlers::handle_now(Request& request) {
  const auto id = [&request](std::size_t i) -> const std::string& { return request.ids.at(i); };
  const Tenant& tenant = request.tenant;
  switch (request.action) {
    case Action::kListContainers:
      return list_containers(request);
    case Action::kGetContainer:
      return answer_reply(service_.find(tenant, id(0)), wire::container_json);
    case Action::kDeleteContainer:
      return deleted_reply(service_.remove(tenant, id(0)), id(0), "container");
    case Action::kListFiles:
      return list_files(request);
    case Action::kGetFile:
      return answer_reply(service_.file(tenant, id(0), id(1)), wire::file_json);
    case Action::kGetContent:
      return content(request);
    case Action::kDeleteFile:
      return deleted_reply(service_.remove_file(tenant, id(0), id(1)), id(1), "container.file");
    case Action::kInterrupt: {
      const auto done = service_.interrupt(tenant, id(0));
      if (!done) return refusal_reply(done.error());
      return {200, wire::interrupted_json(id(0))};
    }
    case Action::kMcpEnd:
      return mcp_.end(request);
    case Action::kPolicies:
      return {200, options_.policies_json};
    case Action::kCapabilities:
      return {200, wire::capabilities_json(options_.capabilities, service_.preloads())};
    case Action::kHealth:
      return {200, R"({"status":"ok"})"};
    case Action::kMetrics:
      return metrics();
    case Action::kOpenApi:
      return {200, wire::openapi_json()};
    case Action::kCreateContainer:
    case Action::kExecute:
    case Action::kExecuteOnce:
    case Action::kEvaluate:
    case Action::kMcp:
    case Action::kPutFile:
    case Action::kTrace:
      break;
  }
  return error_reply({500, "this route has no answer"});
}

void Handlers::create(const Request& request, const std::shared_ptr<Exchange>& exchange) {
  const auto wish = wire::container_wish(request.body.empty() ? "{}" : request.body);
  if (!wish) return exchange->reply(refusal_reply(wish.error()));
  service_.create(request.tenant, *wish, [exchange](const Answer<Container>& answer) {
    exchange->reply(answer_reply(answer, wire::container_json));
  });
}

template <class Read, class Next>
void Handlers::read_body(Request& request, Read read, Next next) {
  if (request.body.size() <= kMostAtOnce) return next(request, read(request.body));
  struct Task {
    Request request;
    std::optional<std::invoke_result_t<Read, std::string_view>> result;
  };
  const auto task = std::make_shared<Task>();
  task->request = std::move(request);
  worker_.run(
      alive_,
      [task, read](const std::stop_token& /*stop*/) {
        task->result.emplace(read(task->request.body));
        std::string().swap(task->request.body);
      },
      [task, next] { next(task->request, std::move(*task->result)); });
}

template <class Asked>
std::shared_ptr<ClientExecution> Handlers::execution_for(
    const Asked& asked, const Request& from, const std::shared_ptr<Exchange>& exchange) {
  const auto form = stream_form(asked.stream, from.accept);
  return std::make_shared<ClientExecution>(
      exchange, ClientExecution::Options{form, asked.on_disconnect, options_.stream_queue},
      metrics_);
}

void Handlers::execute(Request& request, const std::shared_ptr<Exchange>& exchange) {
  read_body(request, wire::execute_request, [this, exchange](const Request& from, auto asked) {
    if (!asked) return exchange->reply(refusal_reply(asked.error()));
    const auto execution = execution_for(*asked, from, exchange);
    execution->start(
        service_.execute(from.tenant, from.ids.at(0), std::move(asked->wish), execution->sink()));
  });
}

void Handlers::execute_once(Request& request, const std::shared_ptr<Exchange>& exchange) {
  read_body(request, wire::once_request, [this, exchange](const Request& from, auto asked) {
    if (!asked) return exchange->reply(refusal_reply(asked.error()));
    const auto execution = execution_for(*asked, from, exchange);
    execution->start(service_.execute_once(from.tenant, asked->wish, execution->sink()));
  });
}

void Handlers::mcp(Request& request, const std::shared_ptr<Exchange>& exchange) {
  read_body(request, mcp::read_message, [this, exchange](const Request& from, auto message) {
    mcp_.post(from, std::move(message), exchange);
  });
}

void Handlers::evaluate(const Request& request, const std::shared_ptr<Exchange>& exchange) {
  if (const auto refusal = service_.stopped()) return exchange->reply(refusal_reply(*refusal));
  const auto done = wire::evaluate(request.body, options_.grammar);
  if (!done) return exchange->reply(refusal_reply(done.error()));
  service_.evaluated(request.tenant, *done, [exchange, reply = done->reply] {
    exchange->reply({200, reply});
  });
}

Reply Handlers::metrics() {
  service_.measure(metrics_);
  return {200, to_prometheus(metrics_), "text/plain; version=0.0.4; charset=utf-8"};
}

void Handlers::trace(const Request& request, const std::shared_ptr<Exchange>& exchange) {
  const auto wish = wire::trace_wish(request.query);
  if (!wish) return exchange->reply(refusal_reply(wish.error()));
  service_.trace(request.tenant, request.ids.at(0), *wish,
                 [exchange, form = wish->form](Answer<TraceText> answer) {
                   if (!answer) return exchange->reply(refusal_reply(answer.error()));
                   Reply reply{200, std::move(answer->text), wire::content_type(form)};
                   if (!answer->next.empty())
                     reply.headers.emplace_back("Sandglass-Next", answer->next);
                   exchange->reply(std::move(reply));
                 });
}

Reply Handlers::list_containers(const Request& request) {
  const auto query = wire::page_query(request.query);
  if (!query) return refusal_reply(query.error());
  return answer_reply(service_.list(request.tenant, query->page, query->name),
                      wire::containers_json);
}

Reply Handlers::list_files(const Request& request) {
  const auto query = wire::page_query(request.query);
  if (!query) return refusal_reply(query.error());
  if (!query->name.empty()) {
    return error_reply({400, "there is no parameter 'name' here", "name"});
  }
  return answer_reply(service_.files(request.tenant, request.ids.at(0), query->page),
                      wire::files_json);
}

void Handlers::put_file(Request& request, const std::shared_ptr<Exchange>& exchange) {
  if (request.multipart) {
    const auto files = std::count_if(
        request.multipart->parts().begin(), request.multipart->parts().end(),
        [](const auto& part) { return part.name == "file" || part.name == "file_id"; });
    if (files > 1)
      return exchange->reply(error_reply(
          {400, "the form has more than one field named file or file_id; send each by itself",
           "file"}));
    for (Multipart::Part& part : request.multipart->parts()) {
      if (part.name == "file")
        return put_content(request, part.file_name.value_or(""), std::move(part.content), exchange);
      if (part.name == "file_id") return copy_file(request, part.content, exchange);
    }
    return exchange->reply(
        error_reply({400, "the form has no field named file or file_id", "file"}));
  }
  if (is_json(request.content_type) && request.query.empty() && request.file_name.empty()) {
    const auto file_id = wire::file_id_wish(request.body);
    if (!file_id) return exchange->reply(refusal_reply(file_id.error()));
    return copy_file(request, *file_id, exchange);
  }
  std::string name;
  for (const wire::QueryItem& item : request.query) {
    if (item.name == "name") name = item.value;
  }
  if (name.empty()) name = percent_decoded(request.file_name).value_or("");
  if (name.empty() && !request.disposition.empty()) {
    const auto header = parse_header_value(request.disposition);
    if (header && header->parameters.contains("filename")) {
      name = header->parameters.at("filename");
    }
  }
  put_content(request, name, std::move(request.body), exchange);
}

void Handlers::copy_file(const Request& request, const std::string& file_id,
                         const std::shared_ptr<Exchange>& exchange) {
  service_.copy_file(request.tenant, request.ids.at(0), file_id,
                     [exchange](const Answer<File>& answer) {
                       exchange->reply(answer_reply(answer, wire::file_json));
                     });
}

void Handlers::put_content(const Request& request, const std::string& name, std::string content,
                           const std::shared_ptr<Exchange>& exchange) {
  const std::string base = base_name(name);
  if (base.empty()) {
    return exchange->reply(
        error_reply({400,
                     "the file has no name; give it as the form's filename, as ?name= or as "
                     "X-Filename",
                     "name"}));
  }
  if (content.size() > service_.max_file().value) {
    return exchange->reply(
        error_reply({413, "the file is larger than " + size_text(service_.max_file()) +
                              ", the limit for one file"}));
  }
  service_.put_file(request.tenant, request.ids.at(0), base,
                    std::make_shared<const std::string>(std::move(content)),
                    [exchange](const Answer<File>& answer) {
                      exchange->reply(answer_reply(answer, wire::file_json));
                    });
}

Reply Handlers::content(const Request& request) {
  const std::string& container = request.ids.at(0);
  const auto file = service_.file(request.tenant, container, request.ids.at(1));
  if (!file) return refusal_reply(file.error());
  auto content = service_.content(request.tenant, container, request.ids.at(1));
  if (!content) return refusal_reply(content.error());
  // To be saved, and of no type that a browser would run: what is in it is up to the code.
  const std::string name = base_name(file->path);
  return {200,
          std::move(*content),
          std::string(content_type_of(name)),
          {{"Content-Disposition", attachment(name)}}};
}

}  // namespace runner::http
