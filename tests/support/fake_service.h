// A service without jails, for tests of protocols: containers and files in memory, and executions
// that do what their "code" says. One event loop, its thread.
//
// The code is words: `print TEXT`, `err TEXT`, `bytes HEX`, `flood N` (N MiB to stdout, 64 KiB at a
// time, held while paused), `raise NAME`, `result`, `file NAME`, `hang` (until interrupted), `end`.
// Words are separated by ";". Whatever is left out at the end, `Finished` comes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runner/service.h"

namespace support {

using namespace runner;  // NOLINT(google-build-using-namespace): a test's header

class FakeService final : public Service {
 public:
  explicit FakeService(boost::asio::io_context& loop) : loop_(loop) {}

  void create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) override;
  Answer<Container> find(const Tenant& tenant, std::string_view id) override;
  Answer<Listing<Container>> list(const Tenant& tenant, const Page& page,
                                  std::string_view name) override;
  Answer<void> remove(const Tenant& tenant, std::string_view id) override;
  Answer<std::unique_ptr<ExecutionHandle>> execute(const Tenant& tenant, std::string_view id,
                                                   ExecuteWish wish, ExecutionSink sink) override;
  Answer<std::unique_ptr<ExecutionHandle>> execute_once(const Tenant& tenant, const OnceWish& wish,
                                                        const ExecutionSink& sink) override;
  Answer<void> interrupt(const Tenant& tenant, std::string_view id) override;
  void put_file(const Tenant& tenant, std::string_view id, const std::string& name, Content content,
                FileDone done) override;
  void copy_file(const Tenant& tenant, std::string_view id, std::string_view file_id,
                 const FileDone& done) override;
  Answer<Listing<File>> files(const Tenant& tenant, std::string_view id, const Page& page) override;
  Answer<File> file(const Tenant& tenant, std::string_view id, std::string_view file_id) override;
  Answer<File> file_at(const Tenant& tenant, std::string_view id, std::string_view path) override;
  Answer<std::string> content(const Tenant& tenant, std::string_view id,
                              std::string_view file_id) override;
  Answer<void> remove_file(const Tenant& tenant, std::string_view id,
                           std::string_view file_id) override;
  [[nodiscard]] jail::Bytes max_file() const override { return largest_file; }

  // What a test looks at; from the loop's thread.
  jail::Bytes largest_file = jail::mib(2);
  std::uint64_t produced = 0;  // bytes of all floods
  std::uint64_t interrupts = 0;
  std::uint64_t finished = 0;
  std::uint64_t hanging = 0;  // executions that have come so far
  bool makes_none = false;    // who asks for a container waits for ever
  void expire(const std::string& id) {
    boxes_.at(id).container.status = Container::Status::kExpired;
  }

  class Run;  // one execution

 private:
  struct Box {
    Tenant tenant;
    Container container;
    std::vector<std::pair<File, std::string>> files;
    std::weak_ptr<Run> running;
    std::uint64_t number = 0;
  };

  Answer<File> put(const Tenant& tenant, std::string_view id, const std::string& name,
                   const std::string& content);
  Answer<Box*> open(const Tenant& tenant, std::string_view id);
  Answer<std::pair<File, std::string>*> open_file(const Tenant& tenant, std::string_view id,
                                                  std::string_view file_id);
  Answer<std::unique_ptr<ExecutionHandle>> run(Box* box, const ExecuteWish& wish,
                                               ExecutionSink sink);

  boost::asio::io_context& loop_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // gone: nothing of it may be touched
  std::map<std::string, Box, std::less<>> boxes_;
  std::uint64_t made_ = 0;
};

}  // namespace support
