// What the trace does when fdatasync fails, and when somebody removes its files under it.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "runner/trace/digest.h"
#include "runner/trace/trace.h"
#include "tests/support/temp_dir.h"

using namespace runner;
using namespace runner::trace;
namespace fs = std::filesystem;

namespace {

// What the disk answers: 0, or an errno.
std::atomic<int> disk_error{0};
std::atomic<int> rounds{0};

int sync_by_word(int /*fd*/) {
  ++rounds;
  errno = disk_error;
  return errno == 0 ? 0 : -1;
}

Record record_of(std::uint64_t seq) {
  Record record;
  record.id = "exec_" + std::to_string(seq);
  record.session = "cntr_1";
  record.seq = seq;
  return record;
}

struct World {
  explicit World(WhenFull when, Sync sync = Sync::kAlways) {
    disk_error = 0;
    options.files.folder = folder / "t";
    options.files.say = [this](const std::string& line) { log.push_back(line); };
    options.when_full = when;
    options.sync = sync;
    options.sync_file = sync_by_word;
    auto opened = Trace::open(loop, options);
    if (!opened) FAIL(opened.error().text);
    trace = std::move(*opened);
  }
  // Until its reply may be sent.
  void add(std::uint64_t seq) {
    bool told = false;
    trace->add(record_of(seq), [&] { told = true; });
    until([&] { return told; });
  }
  void keep(const std::string& content) {
    bool told = false;
    trace->keep_input(std::make_shared<const std::string>(content), sha256(content),
                      [&] { told = true; });
    until([&] { return told; });
  }
  void until(const std::function<bool()>& holds) {
    while (!holds()) {
      loop.restart();
      REQUIRE(loop.run_one_for(std::chrono::seconds(30)) == 1);
    }
  }
  std::vector<Record> gaps() const {
    std::vector<Record> found;
    for (const auto& entry : fs::directory_iterator(folder / "t")) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        auto record = runner::trace::record_of(line);
        REQUIRE(record);
        if (record->kind == Kind::kGap) found.push_back(*record);
      }
    }
    return found;
  }

  support::TempDir folder;
  boost::asio::io_context loop;
  std::vector<std::string> log;
  Options options;
  std::unique_ptr<Trace> trace;
};

std::vector<std::uint64_t> seqs(Trace& trace) {
  std::vector<std::uint64_t> all;
  const auto excerpt = trace.excerpt("cntr_1", "");
  if (!excerpt) return all;
  for (const std::string& line : excerpt->read("", jail::mib(1)).lines)
    all.push_back(head_of(line)->seq);
  return all;
}

using Seqs = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a failed fdatasync is counted by records, said once, and noted once it works") {
  const auto when = GENERATE(WhenFull::kGoOn, WhenFull::kStop);
  World world(when);
  const std::string path = world.folder / "t/trace-000001.jsonl";
  world.add(1);
  disk_error = EIO;
  world.add(2);
  world.add(3);
  CHECK(world.trace->counters().unsynced == 2);
  CHECK(world.trace->counters().sync_failures == 2);
  CHECK(world.trace->counters().lost == 0);
  const bool stops = when == WhenFull::kStop;
  CHECK(world.log ==
        std::vector<std::string>{"trace: fdatasync of " + path + " failed: EIO" +
                                 (stops ? "; nothing new begins until it works"
                                        : "; records may not outlive the machine until it works")});
  CHECK(world.trace->accepts() == !stops);
  CHECK(world.gaps().empty());
  if (stops) {  // nobody writes: it finds out by itself, at each request
    int before = rounds;
    world.until([&] { return !world.trace->accepts() && rounds > before; });
    disk_error = 0;
    world.until([&] { return world.trace->accepts(); });
  } else {
    disk_error = 0;
    world.add(4);
    world.until([&] { return world.log.size() == 2; });
    CHECK(world.trace->accepts());
  }
  REQUIRE(world.log.size() == 2);
  CHECK(world.log[1] ==
        "trace: fdatasync works again; 2 records from before may not outlive the machine");
  const auto gaps = world.gaps();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].unsynced == 2);
  CHECK(gaps[0].lost == 0);
  CHECK(gaps[0].outcome == "unsynced");
  CHECK(gaps[0].text == "2 of those before may not have reached the disk");
  world.add(5);
  CHECK(seqs(*world.trace) == (stops ? Seqs{1, 2, 3, 5} : Seqs{1, 2, 3, 4, 5}));
  CHECK(world.trace->counters().unsynced == 2);
}

TEST_CASE("a failed fdatasync stops what is new also where replies don't wait for the disk") {
  World world(WhenFull::kStop, Sync::kSecond);
  disk_error = EIO;
  world.add(1);
  world.until([&] { return !world.trace->accepts(); });
  CHECK(world.trace->counters().unsynced == 1);
  disk_error = 0;
  world.until([&] { return world.trace->accepts(); });
  CHECK(world.gaps().size() == 1);
}

TEST_CASE("a file that somebody removes: said, its records counted as lost, the next one begun") {
  World world(WhenFull::kStop);
  world.add(1);
  world.add(2);
  fs::remove(world.folder / "t/trace-000001.jsonl");
  world.add(3);
  CHECK(world.log ==
        std::vector<std::string>{"trace-000001.jsonl with 2 records was removed by somebody else"});
  CHECK(world.trace->counters().lost == 2);
  CHECK(fs::exists(world.folder / "t/trace-000002.jsonl"));
  world.trace.reset();
  world.trace = std::move(*Trace::open(world.loop, world.options));
  CHECK(seqs(*world.trace) == Seqs{3});
}

TEST_CASE("a file that is put in is written beside the loop, and told of once it is kept") {
  const auto sync = GENERATE(Sync::kAlways, Sync::kSecond, Sync::kNone);
  World world(WhenFull::kGoOn, sync);
  const auto large = std::make_shared<const std::string>(8U << 20U, 'l');
  const std::string hash = sha256(*large);
  const std::string inputs = world.folder / "t/inputs";
  int told = 0;
  world.trace->keep_input(large, hash, [&] { ++told; });
  world.trace->keep_input(large, hash, [&] { ++told; });  // twice at once
  CHECK(told == 0);
  CHECK(kept_input(inputs, hash).state == Kept::State::kGone);  // its name comes from the loop
  world.until([&] { return told == 2; });
  CHECK(kept_input(inputs, hash).content == *large);
  CHECK(world.trace->counters().input_bytes == large->size());
  CHECK(std::distance(fs::directory_iterator(inputs), fs::directory_iterator()) == 1);
  world.trace->keep_input(large, hash, [&] { ++told; });  // there already: nothing is written
  world.until([&] { return told == 3; });
  // Somebody removes the folder under the file that is being written.
  const auto other = std::make_shared<const std::string>("other");
  world.trace->keep_input(other, sha256(*other), [&] { ++told; });
  fs::remove_all(world.folder / "t");
  world.until([&] { return told == 4; });
  CHECK(kept_input(inputs, sha256(*other)).content == "other");
  CHECK(world.trace->counters().inputs_lost == 0);
}

TEST_CASE("a folder that somebody removes is made anew, with inputs") {
  World world(WhenFull::kStop);
  world.add(1);
  world.keep("one");
  fs::remove_all(world.folder / "t");
  world.keep("two");
  world.keep("one");
  world.add(2);
  CHECK(world.trace->accepts());
  CHECK(world.trace->counters().lost == 1);
  CHECK(world.trace->counters().inputs_lost == 0);
  CHECK(kept_input(world.folder / "t/inputs", sha256("one")).content == "one");
  CHECK(kept_input(world.folder / "t/inputs", sha256("two")).content == "two");
  CHECK((fs::status(world.folder / "t").permissions() & fs::perms::all) == fs::perms::owner_all);
  CHECK_FALSE(Trace::open(world.loop, world.options));  // taken, as the first one was
  // Where it cannot be made, records are lost as on a full disk, until it can.
  fs::rename(world.folder.path(), world.folder.path().string() + ".away");
  fs::remove_all(world.folder.path().string() + ".away/t");
  world.add(3);
  CHECK_FALSE(world.trace->accepts());
  CHECK(world.trace->counters().lost == 3);
  fs::rename(world.folder.path().string() + ".away", world.folder.path());
  CHECK(world.trace->accepts());
  world.add(4);
  world.trace.reset();
  world.trace = std::move(*Trace::open(world.loop, world.options));
  CHECK(seqs(*world.trace) == Seqs{4});
  REQUIRE(world.gaps().size() == 1);
  CHECK(world.gaps()[0].lost == 1);
}

TEST_CASE("a file that somebody cuts: its lost records are counted, and the next one is begun") {
  World world(WhenFull::kStop);
  for (std::uint64_t seq = 1; seq <= 3; ++seq) world.add(seq);
  const std::string path = world.folder / "t/trace-000001.jsonl";
  // In the middle of the third line, or all of it: as `copytruncate` of logrotate does.
  const bool whole = GENERATE(true, false);
  fs::resize_file(path, whole ? 0 : fs::file_size(path) - 10);
  for (std::uint64_t seq = 4; seq <= 6; ++seq) world.add(seq);
  const std::string lost = whole ? "3" : "1";
  CHECK(world.log == std::vector<std::string>{"trace-000001.jsonl was changed by somebody else: " +
                                              lost + " of its 3 records are lost"});
  CHECK(world.trace->counters().lost == (whole ? 3 : 1));
  const Seqs left = whole ? Seqs{4, 5, 6} : Seqs{1, 2, 4, 5, 6};
  CHECK(seqs(*world.trace) == left);
  world.trace.reset();
  world.trace = std::move(*Trace::open(world.loop, world.options));
  CHECK(seqs(*world.trace) == left);
}

TEST_CASE("a file that somebody writes to: nothing goes behind it, and nothing is lost") {
  World world(WhenFull::kStop);
  world.add(1);
  std::ofstream(world.folder / "t/trace-000001.jsonl", std::ios::app) << "{\"id\":\"half";
  world.add(2);
  CHECK(world.log == std::vector<std::string>{
                         "trace-000001.jsonl was changed by somebody else: 0 of its 1 records are "
                         "lost"});
  CHECK(world.trace->counters().lost == 0);
  CHECK(seqs(*world.trace) == Seqs{1, 2});
  world.trace.reset();
  world.trace = std::move(*Trace::open(world.loop, world.options));
  CHECK(seqs(*world.trace) == Seqs{1, 2});
}

TEST_CASE("an older file that somebody removes or cuts is noticed too, once") {
  const support::TempDir folder;
  std::vector<std::string> log;
  FilesOptions options;
  options.folder = folder / "t";
  options.max_file = jail::Bytes{10};
  options.say = [&](const std::string& line) { log.push_back(line); };
  const auto opened = Files::open(options, [](const Place&, std::string_view) {});
  REQUIRE(opened);
  Files& files = **opened;
  for (int i = 0; i < 3; ++i) REQUIRE(files.append("a line of its own"));
  fs::remove(folder / "t/trace-000001.jsonl");
  fs::resize_file(folder / "t/trace-000002.jsonl", 3);
  files.look_for_all();
  files.look_for_all();
  CHECK(log == std::vector<std::string>{
                   "trace-000001.jsonl with 1 records was removed by somebody else",
                   "trace-000002.jsonl was changed by somebody else: 1 of its 1 records are lost"});
  CHECK(files.removed() == 2);
  CHECK(files.bytes() == 18 + 3 + 18);
}
