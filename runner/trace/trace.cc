#include "runner/trace/trace.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runner/text.h"

namespace runner::trace {
namespace {

constexpr std::chrono::milliseconds kInterval{1000};
constexpr std::chrono::minutes kTendEvery{1};
constexpr jail::Bytes kRoom = jail::kib(256);
constexpr int kTries = 3;  // to keep an input whose folder is removed meanwhile

}  // namespace

Trace::Trace(Key /*key*/, boost::asio::io_context& loop, Options options)
    : options_(std::move(options)), tending_(loop), writer_(loop) {}

Trace::~Trace() = default;

Result<std::unique_ptr<Trace>> Trace::open(boost::asio::io_context& loop, Options options) {
  auto trace = std::make_unique<Trace>(Key{}, loop, std::move(options));
  Trace* raw = trace.get();
  auto files = Files::open(raw->options_.files, [raw](const Place& place, std::string_view line) {
    if (is_utf8(line))
      raw->index(place, line);
    else
      ++raw->foreign_;
  });
  if (!files) return tl::unexpected(files.error());
  raw->files_ = std::move(*files);
  raw->first_file_ = raw->files_->first();
  raw->forget_aged();
  if (raw->foreign_ > 0)
    raw->say(std::to_string(raw->foreign_) + " lines are no records and are not served");
  const std::string& folder = raw->options_.files.folder;
  if (folder.empty()) return trace;
  auto inputs =
      Inputs::open({folder + "/inputs", raw->options_.inputs_size, raw->options_.inputs_time});
  if (!inputs) return tl::unexpected(inputs.error());
  raw->inputs_ = std::move(*inputs);
  if (raw->options_.sync != Sync::kNone)
    raw->syncer_ = std::make_unique<Syncer>(
        loop,
        Syncer::Options{kInterval, raw->options_.sync_file,
                        [raw](int error, std::uint64_t records) { raw->synced(error, records); }});
  raw->tend();
  return trace;
}

// A line that was written whole but holds no record (a disk that lost its blocks gives zeros) is
// never served.
void Trace::index(const Place& place, std::string_view line) {
  const auto head = head_of(line);
  if (!head || line.find('\0') != std::string_view::npos) {
    ++foreign_;
    return;
  }
  if (head->session.empty()) return;
  Session& session = sessions_[std::string(head->session)];
  if (session.places.empty()) session.owner = head->owner;
  session.places.push_back(place);
}

void Trace::forget_aged() {
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    std::vector<Place>& places = it->second.places;
    std::erase_if(places, [&](const Place& place) { return place.file < first_file_; });
    it = places.empty() ? sessions_.erase(it) : std::next(it);
  }
}

int Trace::write(std::string_view line) {
  const auto place = files_->append(line);
  if (!place) return place.error();
  ++counters_.records;
  index(*place, line);
  if (files_->first() != first_file_) {
    first_file_ = files_->first();
    forget_aged();
  }
  if (!syncer_) return 0;
  const auto file = files_->current();
  // A new file's name is in the folder's own data.
  if (std::exchange(last_file_, file.get()) != file.get()) syncer_->written(files_->folder(), 0);
  syncer_->written(file, 1);
  return 0;
}

void Trace::lose(int error) {
  ++counters_.lost;
  if (gap_++ > 0) return;
  if (unsynced_ == 0) gap_since_us_ = now_us();
  say(printable(files_->current_path()) + " cannot be written: " + jail::errno_name(error) +
      (options_.when_full == WhenFull::kStop ? "; nothing new begins until it can"
                                             : "; records are lost until it can"));
}

// fsync(2): after a failure the pages count as clean, whether they are on the disk or not. So what
// hung on it stays doubtful, also when the next one succeeds.
void Trace::synced(int error, std::uint64_t records) {
  const int before = std::exchange(sync_error_, error);
  if (error == 0) {
    say("fdatasync works again; " + std::to_string(unsynced_) +
        " records from before may not outlive the machine");
    (void)close_gap();
    return;
  }
  ++counters_.sync_failures;
  counters_.unsynced += records;
  if (gap_ == 0 && unsynced_ == 0) gap_since_us_ = now_us();
  unsynced_ += records;
  if (before != 0) return;
  say("fdatasync of " + printable(files_->current_path()) + " failed: " + jail::errno_name(error) +
      (options_.when_full == WhenFull::kStop
           ? "; nothing new begins until it works"
           : "; records may not outlive the machine until it works"));
}

// Nobody writes where nothing may begin: something must, to see whether the disk is well again.
void Trace::try_sync() {
  if (std::exchange(is_trying_, true)) return;
  (void)files_->write_last_byte_again();
  syncer_->written(files_->current(), 0);
  syncer_->when_durable([this](int /*error*/) { is_trying_ = false; });
}

// The trace itself says what is missing in it. Its line is small: that it fits says little, so
// there must be room for what comes next.
bool Trace::close_gap() {
  const std::uint64_t unsynced = sync_error_ == 0 ? unsynced_ : 0;
  if (gap_ == 0 && unsynced == 0) return true;
  if (files_->probe(kRoom) != 0) return false;
  Record record;
  record.kind = Kind::kGap;
  record.time_us = gap_since_us_;
  record.ending = Ending::kError;
  record.outcome = gap_ > 0 ? "lost" : "unsynced";
  record.lost = gap_;
  record.unsynced = unsynced;
  if (gap_ > 0) record.text = std::to_string(gap_) + " records could not be written";
  if (unsynced > 0)
    record.text += (gap_ > 0 ? "; " : "") + std::to_string(unsynced) +
                   " of those before may not have reached the disk";
  if (write(to_line(record)) != 0) return false;
  unsynced_ -= unsynced;
  if (gap_ > 0)
    say("it is written again; " + std::to_string(std::exchange(gap_, 0)) + " records were lost");
  return true;
}

void Trace::add(const Record& record, std::function<void()> then) {
  const std::string line = to_line(record);
  const int error = close_gap() ? write(line) : ENOSPC;
  if (error != 0) {
    lose(error);
    return then();
  }
  when_durable(std::move(then));
}

void Trace::when_durable(std::function<void()> then) {
  if (!syncer_ || !waits_for_disk()) return then();
  syncer_->when_durable([then = std::move(then)](int /*error*/) { then(); });
}

void Trace::keep_input(const Content& content, const std::string& sha256,
                       std::function<void()> then) {
  if (!inputs_) return then();
  keep(content, sha256, kTries, std::move(then));
}

void Trace::keep(const Content& content, const std::string& sha256, int tries,
                 std::function<void()> then) {
  auto begun = begin_input(sha256, content->size());
  if (!begun || !*begun) {
    end_input(begun ? tl::expected<std::shared_ptr<const jail::Fd>, int>(nullptr)
                    : tl::unexpected(begun.error()));
    return when_durable(std::move(then));
  }
  const std::shared_ptr<Inputs::Draft> draft = std::move(*begun);
  const auto error = std::make_shared<int>(0);
  writer_.run(
      alive_,
      [draft, content, error](const std::stop_token& /*stop*/) { *error = draft->write(*content); },
      [this, draft, content, error, tries, then = std::move(then)] {
        const auto kept = inputs_->finish(*draft, *error);
        // The folder was removed while it was written: what was written is gone with it.
        if (!kept && kept.error() == ENOENT && tries > 1)
          return keep(content, draft->sha256, tries - 1, then);
        end_input(kept);
        when_durable(then);
      });
}

tl::expected<std::unique_ptr<Inputs::Draft>, int> Trace::begin_input(const std::string& sha256,
                                                                     std::uint64_t bytes) {
  auto begun = inputs_->begin(sha256, bytes);
  if (!begun && begun.error() == ENOENT && files_->mend_folder())
    begun = inputs_->begin(sha256, bytes);
  return begun;
}

void Trace::end_input(const tl::expected<std::shared_ptr<const jail::Fd>, int>& kept) {
  if (!kept) {
    ++counters_.inputs_lost;
    if (!std::exchange(input_trouble_, true))
      say("inputs cannot be kept: " + jail::errno_name(kept.error()) +
          "; what uses them cannot be replayed");
    return;
  }
  input_trouble_ = false;
  if (!syncer_ || !*kept) return;
  syncer_->written(*kept, 0);
  syncer_->written(inputs_->folder(), 0);
}

bool Trace::accepts() {
  if (options_.when_full == WhenFull::kGoOn) return true;
  if (sync_error_ == 0) return close_gap();
  try_sync();
  return false;
}

std::optional<Excerpt> Trace::excerpt(const std::string& session, std::string_view owner) const {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.owner != owner) return std::nullopt;
  Excerpt excerpt;
  excerpt.places.reserve(found->second.places.size());
  for (const Place& place : found->second.places)
    if (auto file = files_->file(place.file)) excerpt.places.emplace_back(std::move(file), place);
  return excerpt;
}

Lines Excerpt::read(std::string_view after, jail::Bytes most) const {
  Lines lines;
  std::uint64_t bytes = 0;
  std::string last_id;
  bool skipping = !after.empty();
  for (const auto& [file, place] : places) {
    if (!skipping && !lines.lines.empty() && bytes + place.size > most.value) {
      lines.next = last_id;
      return lines;
    }
    auto line = read_line(*file, place);
    if (!line) continue;
    const auto head = head_of(*line);
    if (!head) continue;
    if (skipping) {
      skipping = head->id != after;
      continue;
    }
    last_id = head->id;
    bytes += line->size();
    lines.lines.push_back(std::move(*line));
  }
  lines.has_after = !skipping;
  return lines;
}

Counters Trace::counters() const {
  Counters now = counters_;
  now.aged_out = files_->aged_out();
  now.lost += files_->removed();
  now.bytes = files_->bytes();
  if (inputs_) {
    now.input_bytes = inputs_->bytes();
    now.inputs_removed = inputs_->removed();
  }
  return now;
}

void Trace::tend() {
  inputs_->tend();
  files_->look_for_all();
  tending_.expires_after(kTendEvery);
  tending_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tend();
  });
}

}  // namespace runner::trace
