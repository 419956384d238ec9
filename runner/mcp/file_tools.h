// The tools and resources that are a session's files. The event loop's thread.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "runner/mcp/arguments.h"
#include "runner/mcp/session_call.h"

namespace runner::mcp {

// Each gives the result of tools/call, refused or not.
json::object list_files(Service& service, const Tenant& tenant, const SessionArguments& arguments);
json::object read_file(Service& service, const Tenant& tenant, const ReadArguments& arguments);
json::object close_session(Service& service, const Tenant& tenant,
                           const SessionArguments& arguments);

// The result of resources/read: all of a file, a text as text and anything else as base64.
tl::expected<json::object, Failure> read_resource(Service& service, const Request& request);

class Writing final : public SessionCall {
 public:
  Writing(Shared& shared, Request request, std::shared_ptr<Outlet> outlet,
          WriteArguments arguments);
  void begin() { start(std::nullopt); }

 private:
  void go() override;
  void interrupt() override {}  // it ends by itself, soon
  void on_written(const Answer<File>& file);

  std::string name_;
  std::string content_;
};

}  // namespace runner::mcp
