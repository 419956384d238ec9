#include <algorithm>
#include <utility>

#include "policies/explain.h"
#include "policies/load.h"
#include "runner/service/recorder_inner.h"
#include "runner/text.h"
#include "runner/trace/notebook.h"
#include "runner/trace/page.h"

namespace runner {
namespace {

using trace::Kind;

constexpr jail::Bytes kMostShown = jail::mib(32);  // of lines, in one reply
constexpr std::size_t kMostReaders = 100;          // that wait for theirs

// Some hundred milliseconds for a large one: away from the loop.
Answer<TraceText> show(const trace::Excerpt& excerpt, const TraceWish& wish) {
  using Form = TraceWish::Form;
  trace::Lines lines = excerpt.read(wish.after, kMostShown);
  if (!lines.has_after)
    return refuse(Refusal::Kind::kInvalid,
                  "after: no such id; its record may have gone with the oldest file", "after");
  TraceText shown;
  shown.next = std::move(lines.next);
  if (wish.form == Form::kLines) {
    for (const std::string& line : lines.lines) shown.text.append(line).append(1, '\n');
    return shown;
  }
  std::vector<trace::Record> records;
  records.reserve(lines.lines.size());
  for (const std::string& line : lines.lines)
    if (auto record = trace::record_of(line)) records.push_back(std::move(*record));
  const std::size_t unreadable = lines.lines.size() - records.size();
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.seq < b.seq; });
  shown.text = wish.form == Form::kNotebook ? trace::to_notebook(records, unreadable)
                                            : trace::to_page(records, unreadable);
  return shown;
}

}  // namespace

Answer<void> Recorder::interrupt(const Tenant& tenant, std::string_view id) {
  (void)box_of(tenant, id);
  return inner_->interrupt(tenant, id);
}

void Recorder::put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                        Content content, FileDone done) {
  if (auto stopping = stopped()) return done(tl::unexpected(std::move(*stopping)));
  const auto box = box_of(tenant, id);
  inner_->put_file(tenant, id, name, content,
                   [this, box, content, done = std::move(done),
                    alive = std::weak_ptr(alive_)](const Answer<File>& put) {
                     if (!put || alive.expired()) return done(put);
                     uploaded(box, *put, content, [done, put] { done(put); });
                   });
}

void Recorder::copy_file(const Tenant& tenant, std::string_view id, std::string_view file_id,
                         const FileDone& done) {
  if (auto stopping = stopped()) return done(tl::unexpected(std::move(*stopping)));
  const auto box = box_of(tenant, id);
  inner_->copy_file(tenant, id, file_id,
                    [this, box, done, alive = std::weak_ptr(alive_)](const Answer<File>& put) {
                      if (!put || alive.expired()) return done(put);
                      all_uploaded(box, {*put}, [done, put] { done(put); });
                    });
}

// The record is written at once, before any execution that finds the file can end; the file is kept
// before it is told that it is in.
void Recorder::uploaded(const std::shared_ptr<Box>& box, const File& file, const Content& content,
                        Then then) {
  if (!box || options_.trace == nullptr) return then();
  trace::TracedFile traced = traced_file(file);
  if (traced.sha256.empty()) traced.sha256 = trace::sha256(*content);
  trace::Record record = record_for(*box, Kind::kUpload);
  record.id = file.id;
  record.seq = ++box->last_seq;
  record.title = "put in " + printable(file.path);
  record.inputs.push_back(traced);
  write(record, [] {});
  ++box->keeping;
  box->inputs[file.path] = traced;
  options_.trace->keep_input(content, traced.sha256,
                             [this, box, then = std::move(then), alive = std::weak_ptr(alive_)] {
                               if (alive.expired()) return;
                               then();
                               if (--box->keeping == 0) release(box);
                             });
}

void Recorder::all_uploaded(const std::shared_ptr<Box>& box, std::vector<File> files,
                            const Then& then) {
  if (!box || files.empty()) return then();
  const File file = std::move(files.front());
  files.erase(files.begin());
  const auto next = [this, box, files = std::move(files), then] { all_uploaded(box, files, then); };
  auto bytes = inner_->content(box->tenant, box->id, file.id);
  if (!bytes) return next();
  uploaded(box, file, std::make_shared<const std::string>(std::move(*bytes)), next);
}

// What has ended meanwhile is recorded and told.
void Recorder::release(const std::shared_ptr<Box>& box) {
  const auto of_others = std::stable_partition(held_.begin(), held_.end(),
                                               [&](const auto& one) { return one.first != box; });
  const std::vector<std::pair<std::shared_ptr<Box>, Then>> due(
      std::make_move_iterator(of_others), std::make_move_iterator(held_.end()));
  held_.erase(of_others, held_.end());
  for (const auto& [held_box, end] : due) end();
}

Answer<void> Recorder::remove_file(const Tenant& tenant, std::string_view id,
                                   std::string_view file_id) {
  if (auto stopping = stopped()) return tl::unexpected(std::move(*stopping));
  const std::string container(id);
  const std::string removed_id(file_id);
  const auto file = inner_->file(tenant, id, file_id);
  auto removed = inner_->remove_file(tenant, container, removed_id);
  const auto box = box_of(tenant, container);
  if (!removed || !file || !box || options_.trace == nullptr) return removed;
  trace::Record record = record_for(*box, Kind::kRemove);
  record.id = removed_id;
  record.seq = ++box->last_seq;
  record.title = "removed " + printable(file->path);
  record.inputs.push_back(traced_file(*file));
  box->inputs.erase(file->path);
  write(record, [] {});
  return removed;
}

Answer<Listing<File>> Recorder::files(const Tenant& tenant, std::string_view id, const Page& page) {
  (void)box_of(tenant, id);
  return inner_->files(tenant, id, page);
}

Answer<File> Recorder::file(const Tenant& tenant, std::string_view id, std::string_view file_id) {
  (void)box_of(tenant, id);
  return inner_->file(tenant, id, file_id);
}

Answer<std::string> Recorder::content(const Tenant& tenant, std::string_view id,
                                      std::string_view file_id) {
  (void)box_of(tenant, id);
  return inner_->content(tenant, id, file_id);
}

// A container that is gone, or ended with a server before this one, has left its trace.
void Recorder::trace(const Tenant& tenant, std::string_view id, const TraceWish& wish,
                     const TraceDone& done) {
  if (options_.trace == nullptr)
    return done(refuse(Refusal::Kind::kNotFound,
                       "this server keeps no trace: it was started with --trace off"));
  const std::string session(id);
  const auto container = find(tenant, session);  // which is activity, as any call
  const auto excerpt = options_.trace->excerpt(session, owner_of(tenant));
  if (!excerpt && !container && container.error().kind != Refusal::Kind::kExpired)
    return done(tl::unexpected(container.error()));
  if (reader_.waiting() >= kMostReaders)
    return done(tl::unexpected(Refusal{Refusal::Kind::kUnavailable,
                                       "too many traces are being read; try again", "",
                                       std::chrono::seconds(1)}));
  const auto shown = std::make_shared<Answer<TraceText>>();
  reader_.run(
      alive_,
      [shown, excerpt = excerpt.value_or(trace::Excerpt()), wish](const std::stop_token& /*stop*/) {
        *shown = show(excerpt, wish);
      },
      [shown, done] { done(std::move(*shown)); });
}

void Recorder::measure(Metrics& metrics) const {
  inner_->measure(metrics);
  if (options_.trace == nullptr) return;
  const trace::Counters now = options_.trace->counters();
  metrics.trace = TraceLevel{now.records,     now.lost,          now.aged_out,
                             now.unsynced,    now.sync_failures, now.bytes,
                             now.input_bytes, now.inputs_lost,   now.inputs_removed};
}

std::string policy_sha256(const std::string& folder, const std::string& default_policy,
                          const std::string& name) {
  const auto library = policies::Library::open(folder);
  if (!library) return "";
  const std::vector<std::string> names = library->names();
  const bool shipped = std::find(names.begin(), names.end(), name) != names.end();
  if (!shipped && name != default_policy) return "";
  const auto policy = library->find(name);
  return policy ? trace::sha256(policies::show(*policy)) : "";
}

}  // namespace runner
