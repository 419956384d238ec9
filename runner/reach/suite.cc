#include "runner/reach/suite.h"

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "runner/reach/interrupt.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

using Clock = std::chrono::steady_clock;

template <class T>
bool has(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

Result<std::vector<const Probe*>> chosen(const Subject& subject, const SuiteOptions& options) {
  if (const auto known = are_known(options.only); !known) return tl::unexpected(known.error());
  std::vector<const Probe*> probes;
  for (const Probe& probe : catalogue())
    if (options.wants(probe) && subject.can_run(probe)) probes.push_back(&probe);
  if (probes.empty())
    return fail(ErrorKind::kUsage, "none of these probes can be run against " + subject.name() +
                                       " by " + subject.mode() +
                                       "; leave out --only or --category");
  return probes;
}

// The line that a probe which runs twice is compared by.
std::string value_line(const std::string& out) {
  const std::size_t at = out.find("VALUE ");
  return at == std::string::npos ? "" : out.substr(at, out.find('\n', at) - at);
}

// What a filter answers, or it kills: whatever it refused meanwhile, nothing else was its doing.
bool may_be_the_filter(const Observation& found, const Answer& answer) {
  const int status = answer.wait_status;
  if (answer.exited && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) return true;
  return found.error == EPERM || found.error == EACCES || found.error == ENOSYS;
}

std::vector<Layer> seen_in(const Observation& found, const Answer& answer) {
  std::vector<Layer> seen = answer.refused_by;
  if (!may_be_the_filter(found, answer)) std::erase(seen, Layer::kSeccomp);
  if (answer.ended_by && !has(seen, *answer.ended_by)) seen.push_back(*answer.ended_by);
  return seen;
}

class Run {
 public:
  Run(const Outside& outside, Subject& subject, Control* control, const SuiteOptions& options)
      : outside_(outside), subject_(subject), control_(control), options_(options) {}

  Result<Report> all(const std::vector<const Probe*>& probes) {
    const auto start = Clock::now();
    rows_.resize(probes.size());
    // What takes long goes first, so that nobody waits for it at the end.
    for (std::size_t i = 0; i < probes.size(); ++i) order_.push_back(i);
    std::stable_partition(order_.begin(), order_.end(),
                          [&](std::size_t i) { return probes[i]->room == Room::kSmall; });
    unsigned threads = options_.parallel;
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency()) + 4;
    std::vector<std::thread> pool;
    for (unsigned i = 0; i < threads; ++i) pool.emplace_back([&] { work(probes); });
    for (std::thread& thread : pool) thread.join();
    if (is_interrupted()) return interrupted();
    Report report;
    report.subject = subject_.name();
    report.mode = subject_.mode();
    report.rows = std::move(rows_);
    report.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    return report;
  }

 private:
  void work(const std::vector<const Probe*>& probes) {
    for (std::size_t i = next_++; i < order_.size() && !is_interrupted(); i = next_++) {
      rows_[order_[i]] = row(*probes[order_[i]]);
      const std::lock_guard lock(mutex_);
      ++done_;
      if (options_.progress) options_.progress(done_, probes.size());
    }
  }

  Row row(const Probe& probe) {
    Row row;
    row.probe = &probe;
    row.got = observe(subject_, probe, &row.seen);
    row.expected = subject_.expected(probe);  // some are known once something has run
    if (control_ == nullptr) return row;
    row.control = observe(*control_, probe, nullptr);
    if (options_.whys == Whys::kYes && row.got.verdict == Verdict::kBlocked && row.is_proven())
      row.why = find_why(probe, row.seen, [&](const std::vector<Layer>& layers) {
        return observe_with(probe, nullptr, [&](const Attempt& attempt) {
          return control_->run_behind(attempt, layers);
        });
      });
    return row;
  }

  Observation observe(Subject& subject, const Probe& probe, std::vector<Layer>* seen) {
    const std::string helper = subject.helper(outside_);
    return observe_with(
        probe, seen, [&](const Attempt& attempt) { return subject.run(attempt); }, helper);
  }

  template <class How>
  Observation observe_with(const Probe& probe, std::vector<Layer>* seen, const How& how,
                           const std::string& helper = "") {
    const Answer first = once(probe, how, helper);
    Observation found = probe.twice == Twice::kYes
                            ? compared(probe, first, once(probe, how, helper))
                            : judge(probe, first);
    if (seen != nullptr) *seen = seen_in(found, first);
    found.detail = outside_.without_names(std::move(found.detail));
    return found;
  }

  static Observation compared(const Probe& probe, const Answer& first, const Answer& second) {
    const std::string one = value_line(first.out);
    const std::string other = value_line(second.out);
    if (one.empty()) return judge(probe, first);
    if (other.empty()) return judge(probe, second);
    if (one == other || other == "VALUE seen")
      return {Verdict::kReached, "two sandboxes have it in common", 0};
    return {Verdict::kBlocked, "two sandboxes have nothing in common", 0};
  }

  template <class How>
  Answer once(const Probe& probe, const How& how, const std::string& helper) {
    Attempt attempt;
    attempt.probe = &probe;
    attempt.tag = std::string(probe.id) + "-" + std::to_string(tags_++);
    const auto own = outside_.own_file(attempt.tag);
    if (!own) {
      Answer answer;
      answer.error = own.error();
      return answer;
    }
    attempt.env = outside_.environment(helper.empty() ? outside_.helper() : helper, *own);
    Answer answer = how(attempt);
    outside_.remove(*own);
    return answer;
  }

  const Outside& outside_;
  Subject& subject_;
  Control* control_;
  const SuiteOptions& options_;
  std::vector<Row> rows_;
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_{0};
  std::atomic<unsigned> tags_{0};
  std::mutex mutex_;
  std::size_t done_ = 0;
};

}  // namespace

bool SuiteOptions::wants(const Probe& probe) const {
  const bool named = std::any_of(only.begin(), only.end(), [&](const std::string& word) {
    return word == probe.id || word == probe.name;
  });
  return (only.empty() || named) && (categories.empty() || has(categories, probe.category));
}

Result<void> are_known(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (find_probe(word) == nullptr)
      return fail(ErrorKind::kUsage,
                  "no probe " + printable(word) + "; sandglass probe --list names them");
  return {};
}

Result<Report> run_suite(const Outside& outside, Subject& subject, Control* control,
                         const SuiteOptions& options) {
  const auto probes = chosen(subject, options);
  if (!probes) return tl::unexpected(probes.error());
  return Run(outside, subject, control, options).all(*probes);
}

}  // namespace runner::reach
