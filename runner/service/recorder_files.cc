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

}  // namespace

Answer<void> Recorder::interrupt(const Tenant& tenant, std::string_view id) {
  (void)box_of(tenant, id);
  return inner_->interrupt(tenant, id);
}

Answer<File> Recorder::put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                                std::string_view content) {
  if (auto stopping = stopped()) return tl::unexpected(std::move(*stopping));
  const std::string container(id);
  auto put = inner_->put_file(tenant, id, name, content);
  if (put) uploaded(tenant, container, *put, content);
  return put;
}

Answer<File> Recorder::copy_file(const Tenant& tenant, std::string_view id,
                                 std::string_view file_id) {
  if (auto stopping = stopped()) return tl::unexpected(std::move(*stopping));
  const std::string container(id);
  auto copied = inner_->copy_file(tenant, id, file_id);
  if (!copied) return copied;
  if (const auto bytes = inner_->content(tenant, container, copied->id))
    uploaded(tenant, container, *copied, *bytes);
  return copied;
}

void Recorder::uploaded(const Tenant& tenant, const std::string& id, const File& file,
                        std::string_view content) {
  const auto box = box_of(tenant, id);
  if (!box || options_.trace == nullptr) return;
  trace::TracedFile traced = traced_file(file);
  if (traced.sha256.empty()) traced.sha256 = trace::sha256(content);
  options_.trace->keep_input(content, traced.sha256);
  trace::Record record = record_for(*box, Kind::kUpload);
  record.id = file.id;
  record.seq = ++box->last_seq;
  record.title = "put in " + printable(file.path);
  record.inputs.push_back(traced);
  box->inputs[file.path] = std::move(traced);
  write(record, [] {});
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
Answer<TraceText> Recorder::trace(const Tenant& tenant, std::string_view id,
                                  const TraceWish& wish) {
  using Form = TraceWish::Form;
  if (options_.trace == nullptr)
    return refuse(Refusal::Kind::kNotFound,
                  "this server keeps no trace: it was started with --trace off");
  const std::string session(id);
  const auto container = find(tenant, session);  // which is activity, as any call
  auto lines = options_.trace->lines(session, owner_of(tenant), wish.after, kMostShown);
  if (!lines) {
    if (!container && container.error().kind != Refusal::Kind::kExpired)
      return tl::unexpected(container.error());
    lines.emplace();
    lines->has_after = wish.after.empty();
  }
  if (!lines->has_after)
    return refuse(Refusal::Kind::kInvalid,
                  "after: no such id; its record may have gone with the oldest file", "after");
  TraceText shown;
  shown.next = std::move(lines->next);
  if (wish.form == Form::kLines) {
    for (const std::string& line : lines->lines) shown.text.append(line).append(1, '\n');
    return shown;
  }
  std::vector<trace::Record> records;
  for (const std::string& line : lines->lines)
    if (auto record = trace::record_of(line)) records.push_back(std::move(*record));
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.seq < b.seq; });
  shown.text = wish.form == Form::kNotebook ? trace::to_notebook(records) : trace::to_page(records);
  return shown;
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
