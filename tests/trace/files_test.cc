// The trace's files: whole lines or none, rotation, a disk that is full, what a crash leaves.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runner/trace/digest.h"
#include "runner/trace/trace.h"
#include "tests/support/require.h"
#include "tests/support/run_binary.h"
#include "tests/support/temp_dir.h"

using namespace runner;
using namespace runner::trace;
namespace fs = std::filesystem;

namespace {

Record record_of(std::uint64_t seq, std::size_t size = 0) {
  Record record;
  record.id = "exec_" + std::to_string(seq);
  record.session = "cntr_1";
  record.owner = "me";
  record.seq = seq;
  record.code = std::string(size, 'x');
  return record;
}

struct Log {
  std::vector<std::string> lines;
  Options options(const std::string& folder) {
    Options options;
    options.files.folder = folder;
    options.files.say = [this](const std::string& line) { lines.push_back(line); };
    return options;
  }
};

std::vector<std::uint64_t> seqs(Trace& trace, const std::string& after = "",
                                jail::Bytes most = jail::mib(64)) {
  std::vector<std::uint64_t> all;
  const auto excerpt = trace.excerpt("cntr_1", "me");
  if (!excerpt) return all;
  for (const std::string& line : excerpt->read(after, most).lines)
    all.push_back(head_of(line)->seq);
  return all;
}

std::unique_ptr<Trace> opened(boost::asio::io_context& loop, Options options) {
  auto trace = Trace::open(loop, std::move(options));
  if (!trace) FAIL(trace.error().text);
  return std::move(*trace);
}

using Seqs = std::vector<std::uint64_t>;

bool keep(Inputs& inputs, const std::string& content) {
  const auto draft = inputs.begin(sha256(content), content.size());
  return draft && *draft && inputs.finish(**draft, (*draft)->write(content));
}

}  // namespace

TEST_CASE("lines are read back by session and owner, page by page, and after a start anew") {
  const support::TempDir folder;
  boost::asio::io_context loop;
  Log log;
  {
    const auto trace = opened(loop, log.options(folder / "t"));
    bool told = false;
    trace->add(record_of(1), [&] { told = true; });
    CHECK(told);
    for (std::uint64_t seq = 2; seq <= 5; ++seq) trace->add(record_of(seq), [] {});
    CHECK(seqs(*trace) == Seqs{1, 2, 3, 4, 5});
    CHECK(seqs(*trace, "exec_3") == Seqs{4, 5});
    CHECK(seqs(*trace, "", jail::Bytes{1}) == Seqs{1});
    CHECK(trace->excerpt("cntr_1", "me")->read("", jail::Bytes{1}).next == "exec_1");
    CHECK_FALSE(trace->excerpt("cntr_1", "you"));
    CHECK_FALSE(trace->excerpt("cntr_2", "me"));
  }
  const auto again = opened(loop, log.options(folder / "t"));
  CHECK(seqs(*again) == Seqs{1, 2, 3, 4, 5});
  CHECK(log.lines.empty());
}

TEST_CASE("without a folder a trace is in memory, and old records give way") {
  boost::asio::io_context loop;
  Options options;
  options.files.max_file = jail::kib(4);
  options.files.files = 2;
  const auto trace = opened(loop, options);
  for (std::uint64_t seq = 1; seq <= 40; ++seq) trace->add(record_of(seq), [] {});
  const Seqs left = seqs(*trace);
  CHECK(left.size() >= 3);
  CHECK(left.size() < 15);
  CHECK(left.back() == 40);
  CHECK(trace->counters().records == 40);
  CHECK(trace->counters().aged_out == 40 - left.size());
  CHECK(trace->counters().bytes <= 8192);
}

TEST_CASE("rotation keeps the newest files and says what went") {
  const support::TempDir folder;
  boost::asio::io_context loop;
  Log log;
  Options options = log.options(folder / "t");
  options.files.max_file = jail::kib(4);
  options.files.files = 3;
  const auto trace = opened(loop, options);
  for (std::uint64_t seq = 1; seq <= 30; ++seq) trace->add(record_of(seq), [] {});
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder / "t"))
    if (entry.is_regular_file()) ++files;
  CHECK(files == 3);
  const Seqs left = seqs(*trace);
  CHECK(left.back() == 30);
  CHECK(left.front() == trace->counters().aged_out + 1);
  REQUIRE_FALSE(log.lines.empty());
  CHECK(log.lines.front().find("trace-000001.jsonl with ") == 0);
  // A line longer than a file may be gets one of its own.
  trace->add(record_of(31, 10'000), [] {});
  trace->add(record_of(32), [] {});
  CHECK(seqs(*trace).back() == 32);
}

TEST_CASE("a torn line is cut off, and a line of zeros is not served") {
  const support::TempDir folder;
  boost::asio::io_context loop;
  Log log;
  {
    opened(loop, log.options(folder / "t"))->add(record_of(1), [] {});
  }
  const std::string file = folder / "t/trace-000001.jsonl";
  const auto whole = fs::file_size(file);
  std::ofstream(file, std::ios::app) << std::string(10, '\0') << "\n{\"id\":\"exec_2\",";
  {
    const auto trace = opened(loop, log.options(folder / "t"));
    CHECK(seqs(*trace) == Seqs{1});
    REQUIRE(log.lines.size() == 2);
    CHECK(log.lines[0] ==
          "the last line of trace-000001.jsonl was cut short by a crash: its 15 bytes are dropped");
    CHECK(log.lines[1] == "trace: 1 lines are no records and are not served");
    CHECK(fs::file_size(file) == whole + 11);
    trace->add(record_of(2), [] {});
  }
  CHECK(seqs(*opened(loop, log.options(folder / "t"))) == Seqs{1, 2});
}

TEST_CASE("a folder that others can read, or that is taken, is refused") {
  const support::TempDir folder;
  boost::asio::io_context loop;
  Log log;
  const auto trace = opened(loop, log.options(folder / "t"));
  CHECK((fs::status(folder / "t").permissions() & fs::perms::all) == fs::perms::owner_all);
  const auto taken = Trace::open(loop, log.options(folder / "t"));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().text.find("another server writes its trace into ") == 0);
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms(0750));
  CHECK(Trace::open(loop, log.options(folder / "open")).error().text.find("chmod 700") !=
        std::string::npos);
  CHECK(Trace::open(loop, log.options(folder / "no/such")).error().text.find("ENOENT") !=
        std::string::npos);
  fs::create_directory(folder / "pipe");
  fs::permissions(folder / "pipe", fs::perms::owner_all);
  REQUIRE(::mkfifo((folder / "pipe/trace-000001.jsonl").c_str(), 0600) == 0);
  CHECK(Trace::open(loop, log.options(folder / "pipe")).error().text ==
        (folder / "pipe/trace-000001.jsonl") + " is no file of a trace: remove it");
}

namespace {

// In a child with a file system of 512 KiB at `mount`. 0: all is well; else which check was not.
int on_a_small_disk(const std::string& mount, WhenFull when) {
  support::enter_namespaces(CLONE_NEWNS);
  if (::mount("none", mount.c_str(), "tmpfs", 0, "size=512k,mode=700") != 0) return 90;
  boost::asio::io_context loop;
  Log log;
  Options options = log.options(mount + "/t");
  options.when_full = when;
  auto opened = Trace::open(loop, options);
  if (!opened) return 91;
  Trace& trace = **opened;
  std::uint64_t told = 0;
  for (std::uint64_t seq = 1; seq <= 20; ++seq) trace.add(record_of(seq, 50'000), [&] { ++told; });
  if (told != 20) return 1;  // the reply comes in any case
  const auto counters = trace.counters();
  if (counters.records + counters.lost != 20 || counters.lost < 10) return 2;
  if (seqs(trace).size() != counters.records) return 3;
  if (log.lines.size() != 1 || log.lines[0].find("ENOSPC") == std::string::npos) return 4;
  if (trace.accepts() != (when == WhenFull::kGoOn)) return 5;
  // Room again: what is missing is said in the trace, and in one more line of the log.
  if (::mount("none", mount.c_str(), "tmpfs", MS_REMOUNT, "size=8m,mode=700") != 0) return 92;
  if (!trace.accepts()) return 6;
  trace.add(record_of(21), [] {});
  if (seqs(trace).back() != 21) return 7;
  if (log.lines.size() != 2 || log.lines[1].find("records were lost") == std::string::npos)
    return 8;
  opened->reset();
  std::ifstream file(mount + "/t/trace-000001.jsonl");
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto record = runner::trace::record_of(line);
    if (!record) return 9;
    lost += record->lost;
  }
  return lines == counters.records + 2 && lost == counters.lost ? 0 : 10;
}

}  // namespace

TEST_CASE("a full disk: whole lines only, the loss counted, logged once and recorded") {
  support::require(support::Feature::kUserNamespaces);
  const support::TempDir folder;
  const auto when = GENERATE(WhenFull::kGoOn, WhenFull::kStop);
  CHECK(support::in_child([&] { return on_a_small_disk(folder.path(), when); }) == 0);
}

TEST_CASE("on disk before the reply: the loop goes on meanwhile, and all who wait are told") {
  const support::TempDir folder;
  boost::asio::io_context loop;
  Log log;
  Options options = log.options(folder / "t");
  options.sync = Sync::kAlways;
  const auto trace = opened(loop, options);
  int told = 0;
  for (std::uint64_t seq = 1; seq <= 50; ++seq) trace->add(record_of(seq), [&] { ++told; });
  CHECK(told == 0);  // never from inside the call
  while (told < 50) {
    loop.restart();
    REQUIRE(loop.run_one_for(std::chrono::seconds(20)) == 1);
  }
  CHECK(trace->counters().sync_failures == 0);
}

TEST_CASE("inputs are kept by content, once, and the oldest give way") {
  const support::TempDir folder;
  const auto open = [&](jail::Bytes size, std::chrono::hours time) {
    auto inputs = Inputs::open({folder / "inputs", size, time});
    if (!inputs) FAIL(inputs.error().text);
    return std::move(*inputs);
  };
  const std::string a(1000, 'a');
  const std::string b(1500, 'b');
  {
    const auto inputs = open(jail::Bytes{3000}, std::chrono::hours(1));
    REQUIRE(keep(*inputs, a));
    CHECK(*inputs->begin(sha256(a), a.size()) == nullptr);  // there already
    REQUIRE(keep(*inputs, b));
    CHECK(inputs->bytes() == 2500);
    CHECK(inputs->begin("c", 3001).error() == EFBIG);
    CHECK(kept_input(folder / "inputs", sha256(a)).content == a);
    std::ofstream(folder / ("inputs/" + sha256(b)), std::ios::app) << "more";
    CHECK(kept_input(folder / "inputs", sha256(b)).state == Kept::State::kChanged);
    CHECK(kept_input(folder / "inputs", sha256("x")).state == Kept::State::kGone);
    CHECK(kept_input(folder / "inputs", "../inputs").state == Kept::State::kGone);
  }
  std::ofstream(folder / "inputs/unfinished-1") << "half";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  const timespec old[2] = {{::time(nullptr) - 7200, 0}, {::time(nullptr) - 7200, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (folder / ("inputs/" + sha256(a))).c_str(), old, 0) == 0);
  const auto inputs = open(jail::Bytes{3000}, std::chrono::hours(1));
  CHECK_FALSE(fs::exists(folder / "inputs/unfinished-1"));
  CHECK(inputs->removed() == 1);  // a, by its age
  CHECK(inputs->bytes() == 1504);
  REQUIRE(keep(*inputs, std::string(2000, 'd')));
  CHECK(inputs->removed() == 2);  // b, by the size
}
