#include "runner/session/execution.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "runner/session/workdir.h"
#include "runner/text.h"

namespace runner {
namespace {

namespace asio = boost::asio;
using std::chrono::duration_cast;

constexpr jail::Millis kLaunchPatience{30'000};
constexpr jail::Millis kKillPatience{10'000};
constexpr jail::Millis kDrain{250};

struct Pipe {
  jail::Fd read;
  jail::Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorKind::kHost,
                "cannot make a pipe: " + jail::errno_name(errno) + "; raise ulimit -n");
  }
  return Pipe{jail::Fd(ends[0]), jail::Fd(ends[1])};
}

// Our end only: each end of a pipe has flags of its own.
void set_non_blocking(const jail::Fd& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

struct Execution::Pipes {
  Pipe in;
  Pipe out;
  Pipe err;
};

Execution::Execution(asio::io_context& io, Launcher& launcher, const ExecutionRequest& request)
    : io_(io), launcher_(launcher), request_(request), timer_(io) {}

Execution::~Execution() {
  launcher_.forget(id_);
  if (in_) in_->stop();
  if (out_) out_->stop();
  if (err_) err_->stop();
}

Result<Execution::Pipes> Execution::make_pipes() {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) {
    return tl::unexpected(!in ? in.error() : !out ? out.error() : err.error());
  }
  set_non_blocking(in->write);
  set_non_blocking(out->read);
  set_non_blocking(err->read);
  return Pipes{std::move(*in), std::move(*out), std::move(*err)};
}

void Execution::start(Done done) {
  done_ = std::move(done);
  auto pipes = make_pipes();
  if (!pipes) return finish(tl::unexpected(pipes.error()));
  const auto sent = launcher_.launch(*request_.plan, *request_.command,
                                     {pipes->in.read, pipes->out.write, pipes->err.write},
                                     request_.inputs, *this, request_.wall_time + request_.grace);
  if (!sent) return finish(tl::unexpected(sent.error()));
  id_ = *sent;
  const bool pass = request_.output_to == OutputTo::kCaller;
  out_ = std::make_shared<OutputPump>(io_, std::move(pipes->out.read), pass ? STDOUT_FILENO : -1,
                                      request_.output);
  err_ = std::make_shared<OutputPump>(io_, std::move(pipes->err.read), pass ? STDERR_FILENO : -1,
                                      request_.output);
  const auto ended = [this] { finish_if_drained(); };
  out_->start({ended, [this](int error) { sink_failed(STDOUT_FILENO, error); }});
  err_->start({ended, [this](int error) { sink_failed(STDERR_FILENO, error); }});
  if (request_.input == InputFrom::kCaller) {
    in_ = std::make_shared<InputPump>(io_, STDIN_FILENO, std::move(pipes->in.write));
  }
  after(kLaunchPatience, &Execution::silent);
}

void Execution::on_launched(jail::Launched launched) {
  if (launched.error) {
    std::string text = jail::describe(*launched.error, request_.spec);
    if (launched.error->step == jail::Step::kExec) text = printable(request_.program) + ": " + text;
    return finish(tl::unexpected(Error{ErrorKind::kSetup, std::move(text), launched.error}));
  }
  started_ = Clock::now();
  running_ = true;
  record_.workdir = std::move(launched.workdir);
  if (in_) in_->start();
  if (record_.facts.act != Act::kNone) return launcher_.interrupt(id_);  // asked for meanwhile
  after(request_.wall_time, &Execution::deadline);
}

void Execution::on_denied(std::vector<jail::Denied> denied) { record_.denied = std::move(denied); }

void Execution::on_ended(const jail::Ended& ended) {
  record_.facts.ended = ended;
  record_.facts.wall = duration_cast<jail::Millis>(Clock::now() - started_);
  record_.facts.disk = disk_state(record_.workdir);
  ended_ = true;
  running_ = false;
  if (in_) in_->stop();
  drain();
}

void Execution::on_lost(const Error& error) { finish(tl::unexpected(error)); }

void Execution::interrupt(int signal) {
  if (ended_) {  // only our own reader holds us up
    record_.facts.act = Act::kInterrupt;
    record_.facts.signal = signal;
    return drain_is_over();
  }
  if (record_.facts.act != Act::kNone) return kill();
  act(Act::kInterrupt, signal);
}

// The first act is the cause; later ones only hasten the end.
void Execution::act(Act act, int signal) {
  if (record_.facts.act == Act::kNone) {
    record_.facts.act = act;
    record_.facts.signal = signal;
  }
  if (running_) launcher_.interrupt(id_);
  after(request_.grace, &Execution::kill);
}

void Execution::kill() {
  if (ended_) return;
  launcher_.kill(id_);
  after(kKillPatience, &Execution::silent);
}

void Execution::after(jail::Millis delay, void (Execution::*what)()) {
  timer_.expires_after(delay);
  timer_.async_wait(
      [this, what, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
        if (!error && !alive.expired()) (this->*what)();
      });
}

void Execution::silent() {
  finish(tl::unexpected(Error{ErrorKind::kSpawner,
                              "the spawner has not answered for a while; see whether the host is "
                              "overloaded, and try again",
                              jail::SetupError{jail::Step::kProtocol, 0, ETIMEDOUT}}));
}

void Execution::sink_failed(int fd, int error) {
  if (fd != STDOUT_FILENO) return;  // nobody hears our complaints: no reason to end the payload
  if (error != EPIPE) stdout_error_ = error;
  if (ended_) return;
  if (record_.facts.act == Act::kNone) record_.facts.act = Act::kReaderGone;
  kill();
}

// All processes of the jail are dead, so the pipes end once they are empty.
void Execution::drain() {
  after(kDrain, &Execution::drain_is_over);
  finish_if_drained();
}

void Execution::drain_is_over() {
  // A payload that came to its own end gets all its output read, however slow our reader is.
  const bool held_up = out_->is_held_up() || err_->is_held_up();
  if (held_up && record_.facts.act == Act::kNone) return after(kDrain, &Execution::drain_is_over);
  out_->stop();
  err_->stop();
  finish_if_drained();
}

void Execution::finish_if_drained() {
  if (!ended_ || !done_ || !out_->is_over() || !err_->is_over()) return;
  if (stdout_error_ != 0) {
    return finish(fail(
        ErrorKind::kFiles,
        "cannot write to stdout: " + jail::errno_name(stdout_error_) + "; see where it leads"));
  }
  if (record_.facts.act == Act::kNone && out_->sink_is_gone()) {
    record_.facts.act = Act::kReaderGone;
  }
  record_.facts.out = out_->stream();
  record_.facts.err = err_->stream();
  record_.out = out_->take_kept();
  record_.err = err_->take_kept();
  finish(std::move(record_));
}

void Execution::finish(Result<ExecutionRecord> result) {
  launcher_.forget(id_);
  timer_.cancel();
  if (in_) in_->stop();
  if (out_) out_->stop();
  if (err_) err_->stop();
  if (const auto done = std::exchange(done_, nullptr)) done(std::move(result));
}

}  // namespace runner
