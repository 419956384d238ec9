#include "runner/session/one_shot.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <utility>

#include "runner/session/execution.h"
#include "runner/session/launcher.h"
#include "runner/session/out_dir.h"
#include "runner/session/rules.h"

namespace runner {
namespace {

namespace asio = boost::asio;

// signal(7): what our caller ignores (nohup, a shell's background job) stays ignored.
bool is_ignored(int signal) {
  struct sigaction current {};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

// Turns signals to us into interrupts of the execution.
class Interrupts {
 public:
  Interrupts(asio::io_context& io, Execution& execution) : signals_(io), execution_(execution) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (!is_ignored(signal)) signals_.add(signal);
    }
    wait();
  }

 private:
  void wait() {
    signals_.async_wait(
        [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error, int signal) {
          if (error || alive.expired()) return;
          execution_.interrupt(signal);
          wait();
        });
  }

  asio::signal_set signals_;
  Execution& execution_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

ExecutionRequest request_for(const Prepared& prepared, const OneShotOptions& options) {
  ExecutionRequest request;
  request.spec = &prepared.spec;
  request.program = prepared.program;
  request.plan = &prepared.plan;
  request.command = &prepared.command;
  request.inputs = prepared.inputs;
  request.wall_time = prepared.policy.limits.wall_time;
  request.grace = prepared.policy.limits.grace;
  request.output = prepared.policy.limits.output;
  request.input = options.input;
  request.output_to = options.output_to;
  return request;
}

void bring_out(JobReport& finished, const ExecutionRecord& record, const Prepared& prepared,
               const OutDir& out) {
  CollectLimits limits;
  limits.max_file = prepared.policy.files.max_file;
  limits.files = prepared.policy.files.outputs;
  const std::vector<KnownInput> known = prepared.known_inputs();
  Collected collected = collect(record.workdir, limits, known,
                                [&](const std::string& path, const jail::Fd& file,
                                    jail::Bytes size) { return out.put(path, file, size); });
  finished.files = std::move(collected.harvest);
  finished.late_error = std::move(collected.error);
}

}  // namespace

struct OneShot::Loop {
  asio::io_context io{1};
  Launcher launcher{io};
  Result<void> started;

  Result<ExecutionRecord> execute(const ExecutionRequest& request) {
    Result<ExecutionRecord> result = fail(ErrorKind::kSpawner, "the event loop ended early");
    Execution execution(io, launcher, request);
    Interrupts interrupts(io, execution);
    io.restart();  // before start(), which may be done at once
    execution.start([&](Result<ExecutionRecord> record) {
      result = std::move(record);
      io.stop();
    });
    io.run();
    return result;
  }
};

OneShot::OneShot(const Home& home) : home_(home), loop_(std::make_unique<Loop>()) {
  loop_->started = loop_->launcher.start(home_.spawner);
  // Writes to a pipe whose reader has gone fail instead of ending us. Not before the spawner's
  // start: a payload must not inherit it.
  (void)std::signal(SIGPIPE, SIG_IGN);
}

OneShot::~OneShot() = default;

void OneShot::close() { loop_->launcher.close(); }

Result<JobReport> OneShot::run(const policies::Library& library, Job job,
                               const OneShotOptions& options) {
  if (!loop_->started) return tl::unexpected(loop_->started.error());
  auto prepared = prepare(home_, library, std::move(job));
  if (!prepared) return tl::unexpected(prepared.error());
  std::optional<OutDir> out;
  if (options.out_dir) {
    auto opened = OutDir::open(*options.out_dir);
    if (!opened) return tl::unexpected(opened.error());
    out = std::move(*opened);
  }
  auto record = loop_->execute(request_for(*prepared, options));
  if (!record) return tl::unexpected(record.error());

  JobReport finished;
  const policies::Policy& policy = prepared->policy;
  finished.outcome = decide(record->facts, {policy.limits, policy.files.workdir});
  finished.reader_gone = record->facts.act == Act::kReaderGone;
  finished.denied = explain_denied(record->denied, [&](const jail::Denied& call) {
    return rule_for(policy, library.syscalls(), call);
  });
  finished.denied_total = record->facts.ended.denied_total;
  finished.denied_throttled = record->facts.ended.denied_throttled;
  if (out) bring_out(finished, *record, *prepared, *out);
  finished.out = std::move(record->out);
  finished.err = std::move(record->err);
  finished.hello = loop_->launcher.hello().value_or(jail::Hello{});
  finished.language = std::move(prepared->language);
  finished.policy = std::move(prepared->policy);
  return finished;
}

}  // namespace runner
