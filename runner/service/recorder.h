// A service that lets another do the work, counts how it ended and writes it into the trace. So the
// one that does the work knows of neither. One event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runner/metrics.h"
#include "runner/service.h"
#include "runner/trace/trace.h"
#include "runner/worker.h"

namespace runner {

class Recorder final : public Service {
 public:
  struct Options {
    std::string default_policy = "standard";
    Metrics* metrics = nullptr;     // may be null; outlives this
    trace::Trace* trace = nullptr;  // likewise
    // The hash of a policy by its name, as the client gives it; empty: it cannot be told.
    std::function<std::string(const std::string&)> policy_sha256;
  };
  // `loop` runs the inner service's callbacks; it outlives this.
  Recorder(boost::asio::io_context& loop, std::unique_ptr<Service> inner, Options options);
  ~Recorder() override;  // what still runs is recorded as stopped
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  Recorder(Recorder&&) = delete;
  Recorder& operator=(Recorder&&) = delete;

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
  Answer<File> file_at(const Tenant& tenant, std::string_view id, std::string_view path) override {
    return inner_->file_at(tenant, id, path);
  }
  Answer<std::string> content(const Tenant& tenant, std::string_view id,
                              std::string_view file_id) override;
  Answer<void> remove_file(const Tenant& tenant, std::string_view id,
                           std::string_view file_id) override;
  void trace(const Tenant& tenant, std::string_view id, const TraceWish& wish,
             const TraceDone& done) override;
  std::optional<Refusal> stopped() override;
  void evaluated(const Tenant& tenant, const Evaluation& evaluation,
                 const std::function<void()>& then) override;
  void measure(Metrics& metrics) const override;
  [[nodiscard]] std::vector<Preload> preloads() const override { return inner_->preloads(); }
  [[nodiscard]] jail::Bytes max_file() const override { return inner_->max_file(); }

 private:
  struct Box;  // a container, as far as its trace needs it
  struct Run;  // an execution that has not ended
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<Box> box_of(const Tenant& tenant, std::string_view id);
  std::shared_ptr<Box> open_box(const Tenant& tenant, const ContainerWish& wish,
                                const Container& made);
  void refused(const Tenant& tenant, const ContainerWish& wish, const Refusal& refusal);
  bool admits_refusal(const std::string& owner);
  void forget_idle_boxes();
  [[nodiscard]] trace::TracedPolicy policy_of(const std::string& name);
  [[nodiscard]] trace::Record record_for(const Box& box, trace::Kind kind) const;
  static void place(Run& run);
  ExecutionSink sink_for(const std::shared_ptr<Run>& run, ExecutionSink sink);
  void finish(const std::shared_ptr<Run>& run, const Finished& finished, const ExecutionSink& sink);
  void refused(const std::shared_ptr<Run>& run, const Refusal& refusal);
  using Then = std::function<void()>;
  void uploaded(const std::shared_ptr<Box>& box, const File& file, const Content& content,
                Then then);
  void all_uploaded(const std::shared_ptr<Box>& box, std::vector<File> files, const Then& then);
  void release(const std::shared_ptr<Box>& box);
  void write(const trace::Record& record, const std::function<void()>& then);

  boost::asio::io_context& loop_;
  std::unique_ptr<Service> inner_;
  Options options_;
  std::map<std::string, std::string> policy_hashes_;
  std::map<std::string, std::shared_ptr<Box>, std::less<>> boxes_;  // by container id
  std::unordered_map<const Run*, std::shared_ptr<Run>> running_;
  std::deque<std::pair<std::shared_ptr<Box>, Then>> held_;  // ends that wait for files to be kept
  Worker reader_;                                           // of traces that are shown
  std::uint64_t opened_ = 0;
  Clock::time_point refusals_since_;
  std::map<std::string, std::size_t> refusals_;  // of creations, by owner, within a minute
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace runner
