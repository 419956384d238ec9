// How an execution ends: its files are looked at and hashed, its client is told, the next begins.
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "runner/service/session_execution.h"

namespace runner {
namespace {

// For all files of one execution; what is not hashed by then is said.
constexpr std::chrono::seconds kPatience{10};
constexpr const char* kTooSlow = "the files of this execution took longer to read than 10s";

std::string death_text(const jail::Ended& ended) {
  if (ended.oom_kills > 0 || ended.cause == jail::KillCause::kMemory)
    return "it needed more than the memory limit";
  if (ended.cause == jail::KillCause::kCpuTime) return "it used up its processor time";
  if (ended.exited && WIFEXITED(ended.wait_status))
    return "status " + std::to_string(WEXITSTATUS(ended.wait_status));
  return signal_text(ended.exited ? WTERMSIG(ended.wait_status) : SIGKILL);
}

}  // namespace

// An interpreter that ended while nothing ran: a thread left behind has exited, say. Whoever
// executes next finds no variables, and is told why.
void Session::note_loss(const Result<jail::Ended>& how) {
  if (!std::exchange(has_state_, false) || !how) return;
  lost_ = "the interpreter had ended before this began (" + death_text(*how) +
          "): variables of earlier executions are gone, files stay";
}

void Session::finish(Outcome outcome) {
  tell_early();
  const auto self = shared_from_this();
  settling_ = std::make_shared<Settling>();
  settling_->execution = std::exchange(running_, nullptr);
  deadline_.cancel();
  pressing_.cancel();
  if (!lost_.empty()) {
    outcome.text = std::exchange(lost_, "") + (outcome.text.empty() ? "" : "; " + outcome.text);
    outcome.state_preserved = false;
  }
  Finished& finished = settling_->finished;
  FileTable::Changes changes = files_.look(workdir_, events_.now());
  finished.files = std::move(changes.files);
  finished.skipped = std::move(changes.skipped);
  finished.denied = explain_denied(std::exchange(denied_, {}), plan_->rule_of);
  finished.results_dropped = settling_->execution->results_dropped;
  finished.outcome = std::move(outcome);
  settling_->unhashed = hash_rest();
  if (settling_->unhashed.empty()) return conclude();
  patience_.expires_after(kPatience);
  patience_.async_wait([weak = weak_from_this(), settling = std::weak_ptr(settling_)](
                           const boost::system::error_code& error) {
    const auto session = weak.lock();
    if (error || !session || !session->settling_ || session->settling_ != settling.lock()) return;
    session->hashing_ = std::make_shared<char>();
    for (const std::string& id : session->settling_->unhashed)
      session->files_.give_up(id, kTooSlow);
    session->conclude();
  });
}

std::set<std::string> Session::hash_rest() {
  std::set<std::string> ids;
  for (FileTable::Unhashed& one : files_.take_unhashed()) {
    const auto done = [weak = weak_from_this(), id = one.id, version = one.version](Digest digest) {
      const auto session = weak.lock();
      if (!session || !session->files_.hashed(id, version, std::move(digest))) return;
      const auto settling = session->settling_;
      if (settling && settling->unhashed.erase(id) > 0 && settling->unhashed.empty())
        session->conclude();
    };
    if (hasher_.hash(std::move(one.file), one.size, hashing_, done))
      ids.insert(one.id);
    else
      files_.give_up(one.id, "too many files wait to be read");
  }
  return ids;
}

void Session::fill_in_digests(Finished& finished) {
  for (File& file : finished.files) {
    const File* known = files_.find(file.id);
    if (known == nullptr || known->bytes != file.bytes) continue;
    file.sha256 = known->sha256;
    file.sha256_note = known->sha256_note;
  }
}

void Session::conclude() {
  const auto self = shared_from_this();
  const auto settling = std::exchange(settling_, nullptr);
  patience_.cancel();
  fill_in_digests(settling->finished);
  settling->finished.expires_at = events_.touch();
  if (const auto sink = std::exchange(settling->execution->sink, nullptr)) sink(settling->finished);
  if (interpreter_) interpreter_->resume();
  start_next();
}

// One that waits gives up its place at once: whoever cancels and asks again must not find all
// taken.
void Session::withdraw(const Execution* waiting) {
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [waiting](const auto& one) { return one.get() == waiting; });
  if (found == queue_.end()) return;
  const auto execution = *found;
  queue_.erase(found);
  Finished finished;
  finished.outcome.word = Word::kInterrupted;
  finished.outcome.text = "it was interrupted before it began";
  finished.outcome.state_preserved = true;
  finished.expires_at = events_.touch();
  if (auto sink = std::exchange(execution->sink, nullptr))
    boost::asio::post(io_, [sink = std::move(sink), finished] { sink(finished); });
}

void Session::close(Word word, const std::string& text) {
  const auto self = shared_from_this();
  closed_ = true;
  const auto tell_end = [this](Execution& execution, const Finished& finished) {
    if (!execution.sink) return;
    boost::asio::post(
        io_, [sink = std::exchange(execution.sink, nullptr), finished] { sink(finished); });
  };
  const auto end_as = [&](Execution& execution) {
    Finished finished;
    finished.outcome.word = word;
    finished.outcome.text = text;
    finished.outcome.out = execution.out;
    finished.outcome.err = execution.err;
    if (execution.started != Clock::time_point())
      finished.outcome.usage.wall =
          std::chrono::duration_cast<jail::Millis>(Clock::now() - execution.started);
    tell_end(execution, finished);
  };
  if (const auto settling = std::exchange(settling_, nullptr)) {
    fill_in_digests(settling->finished);
    tell_end(*settling->execution, settling->finished);
  }
  if (const auto running = std::exchange(running_, nullptr)) end_as(*running);
  for (const auto& waiting : std::exchange(queue_, {})) end_as(*waiting);
  hashing_.reset();
  deadline_.cancel();
  pressing_.cancel();
  patience_.cancel();
  interpreter_.reset();
  if (jail_id_ != 0) launcher_.close_jail(std::exchange(jail_id_, 0));
}

}  // namespace runner
