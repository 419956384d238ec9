// Files of a container: put in, made and changed by code, handed out, and what is never handed out.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/sessions/sessions_under_test.h"

using namespace sessions_test;
using namespace runner;
using namespace std::chrono_literals;
using Kind = Refusal::Kind;
using Source = File::Source;

namespace {

constexpr const char* kShaOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kShaOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

File put(SessionsUnderTest& test, const std::string& id, const std::string& name,
         const std::string& content) {
  const auto file = test.put(id, name, content);
  if (!file) FAIL("put_file: " << file.error().text);
  return *file;
}

}  // namespace

TEST_CASE("files are put in, listed, read, changed by code and removed") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const File abc = put(test, id, "abc", "abc");
  CHECK(abc.id.starts_with("cfile_"));
  CHECK(abc.id.size() == 38);
  CHECK(abc.container_id == id);
  CHECK(abc.path == "/mnt/data/abc");
  CHECK(abc.bytes == 3);
  CHECK(abc.source == Source::kUser);
  CHECK(abc.sha256 == kShaOfAbc);
  CHECK(put(test, id, "empty", "").sha256 == kShaOfNothing);
  CHECK(test.content(id, abc.id) == "abc");
  CHECK(test.files(id).size() == 2);
  const Told read = test.run(id, "open('abc').read(), open('empty').read()");
  CHECK(read.value() == "('abc', '')");
  CHECK(read.finished.files.empty());  // none was changed
  const Told changed = test.run(id, "open('abc', 'a').write('d'); open('new', 'w').write('abc');");
  REQUIRE(changed.finished.files.size() == 2);
  REQUIRE(changed.file("abc") != nullptr);
  CHECK(changed.file("abc")->id == abc.id);
  CHECK(changed.file("abc")->bytes == 4);
  CHECK(changed.file("abc")->source == Source::kAssistant);
  REQUIRE(changed.file("new") != nullptr);
  CHECK(changed.file("new")->sha256 == kShaOfAbc);
  CHECK(test.content(id, abc.id) == "abcd");
  CHECK(test.service->file("", id, abc.id)->bytes == 4);
  CHECK(test.run(id, "1").finished.files.empty());
  REQUIRE(test.service->remove_file("", id, abc.id));
  CHECK(test.service->file("", id, abc.id).error().kind == Kind::kNotFound);
  CHECK(test.run(id, "import os; sorted(os.listdir('.'))").value() == "['empty', 'new']");
  const File again = put(test, id, "new", "x");  // over a file of the code's
  CHECK(test.run(id, "os.rename('new', 'moved'); os.mkdir('d'); open('d/f', 'w').close()")
            .file("d/f") != nullptr);
  CHECK(test.service->content("", id, again.id).error().kind == Kind::kNotFound);
  CHECK(test.put(id, "d", "x").error().kind == Kind::kInvalid);
}

TEST_CASE("unusual names come and go whole, and names that are none are refused") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const std::vector<std::string> names = {"with space",       "a\nb",        "\"'quotes'\"",
                                          "\xe6\x96\x87.csv", "\xff\xfe",    "-rf",
                                          ".hidden",          "back\\slash", std::string(255, 'n')};
  for (const std::string& name : names) {
    const File file = put(test, id, name, name);
    CHECK(file.path == "/mnt/data/" + name);
    CHECK(test.content(id, file.id) == name);
  }
  const Told told =
      test.run(id,
               "import os\nfor n in os.listdir(b'.'):\n  assert open(n, 'rb').read() == n\n"
               "  open(b'2' + n[:-1], 'wb').write(n)\nlen(os.listdir('.'))");
  CHECK(told.value() == "18");
  REQUIRE(told.finished.files.size() == names.size());
  for (const std::string& name : names) {
    const File* file = told.file("2" + name.substr(0, name.size() - 1));
    REQUIRE(file != nullptr);
    CHECK(test.content(id, file->id) == name);
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("../x"),
        std::string("/etc/passwd"), std::string("a\0b", 3), std::string(256, 'n')})
    CHECK(test.put(id, name, "x").error().kind == Kind::kInvalid);
}

TEST_CASE("only regular files are handed out, and never what a link leads to") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const File victim = put(test, id, "victim", "mine");
  const Told told =
      test.run(id,
               "import os, socket\nos.mkfifo('fifo'); os.symlink('/etc/passwd', 'link')\n"
               "os.symlink('/etc', 'folder'); os.symlink('victim', 'inner')\n"
               "s = socket.socket(socket.AF_UNIX); s.bind('sock')\n"
               "open('plain', 'w').close()");
  INFO((told.raised.empty() ? "" : told.raised[0].traceback));
  CHECK(std::string(told.word()) == "ok");
  REQUIRE(told.finished.files.size() == 1);
  CHECK(told.finished.files[0].path == "/mnt/data/plain");
  for (const char* name : {"fifo", "link", "folder", "inner", "sock"})
    CHECK_FALSE(told.skipped(name).empty());
  const std::string swap =
      GENERATE("os.symlink('/etc/passwd', 'victim')", "os.mkfifo('victim')", "os.mkdir('victim')");
  const auto running = test.begin(
      id, {"os.remove('victim'); " + swap + "; print('done')\nimport time; time.sleep(0.5)"});
  test.until([&] { return contains(running->out, "done"); });
  CHECK(test.service->content("", id, victim.id).error().kind == Kind::kNotFound);
  const auto over = test.put(id, "victim", "again");
  CHECK(over.has_value() == !contains(swap, "mkdir"));
  if (over) CHECK(test.content(id, over->id) == "again");
  test.until([&] { return running->is_over; });
}

TEST_CASE("every file has a sha256, however large, and the loop serves others meanwhile") {
  require_jails();
  SessionsUnderTest test("[files]\nworkdir = { size = \"256M\" }\n");
  const std::string id = test.open();
  const std::string other = test.open();
  CHECK(test.run(other, "1").value() == "1");
  const auto told =
      test.begin(id, {"import hashlib\nfor i in range(3):\n  d = bytes([i]) * (29 << 20)\n"
                      "  open(f'f{i}', 'wb').write(d)\n  print(hashlib.sha256(d).hexdigest())"});
  test.until([&] { return std::count(told->out.begin(), told->out.end(), '\n') == 3; });
  std::chrono::milliseconds longest{0};
  auto last = std::chrono::steady_clock::now();
  test.until([&] {
    const auto now = std::chrono::steady_clock::now();
    longest = std::max(longest, std::chrono::duration_cast<std::chrono::milliseconds>(now - last));
    last = now;
    return told->is_over;
  });
  REQUIRE(told->finished.files.size() == 3);
  for (int i = 0; i < 3; ++i) {
    const File* file = told->file("f" + std::to_string(i));
    REQUIRE(file != nullptr);
    CHECK(file->bytes == std::uint64_t{29} << 20U);
    CHECK(file->sha256 == told->out.substr(static_cast<std::size_t>(i) * 65, 64));
    CHECK(file->sha256_note.empty());
  }
  WARN("the loop's longest turn: " << longest.count() << " ms");
  CHECK(test.run(id, "1").finished.files.empty());
}

TEST_CASE(
    "an upload of many megabytes is written and hashed beside the loop, before what follows") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  CHECK(test.run(id, "import os; os.listdir('.')").value() == "[]");
  const auto content = std::make_shared<const std::string>(std::size_t{8} << 20U, 'a');
  std::optional<File> file;
  const auto put_in = [&](const Answer<File>& put) {
    REQUIRE(put);
    file = *put;
  };
  test.service->put_file("", id, "large", content, put_in);
  const auto told = test.begin(id, {"os.listdir('.'), os.path.getsize('large')"});
  CHECK_FALSE(file);
  CHECK(test.files(id).empty());  // nobody sees half of it
  test.until([&] { return told->is_over; });
  CHECK(told->value() == "(['large'], 8388608)");
  CHECK(told->finished.files.empty());  // it is none of the code's
  REQUIRE(file);
  CHECK(file->sha256 == "ad97f87076920684e2ca66fc44e5d322797dc9d64706b174e51b5d0828937043");
  CHECK(test.content(id, file->id) == *content);
  // A container that is deleted meanwhile takes none.
  std::optional<Kind> refused;
  test.service->put_file("", id, "late", content,
                         [&](const Answer<File>& put) { refused = put.error().kind; });
  REQUIRE(test.service->remove("", id));
  test.until([&] { return refused.has_value(); });
  CHECK(*refused == Kind::kNotFound);
}

TEST_CASE("a file that is written while it is read says so, and delays nobody for long") {
  require_jails();
  SessionsUnderTest test("[files]\nworkdir = { size = \"256M\" }\n");
  const std::string id = test.open();
  // Sizes that no read would come to the end of, in between those that are looked at.
  const auto told = test.begin(
      id, {"import os\nf = os.open('moving', os.O_CREAT | os.O_RDWR)\n"
           "os.ftruncate(f, 20 << 20)\nif os.fork() == 0:\n  os.setsid()\n"
           "  for i in range(1 << 30):\n    os.ftruncate(f, 20 << 20)\n"
           "    os.ftruncate(f, 1 << 60 if i % 2 else 10 << 20)\n    os.ftruncate(f, 20 << 20)\n"
           "    os.pwrite(f, b'x', i % 1000)\n"
           "print('go')"});
  test.until([&] { return told->is_over; }, 40s);
  CHECK(std::string(told->word()) == "ok");
  const File* file = told->file("moving");
  if (file != nullptr) CHECK(file->sha256.empty() == !file->sha256_note.empty());
  if (file == nullptr) CHECK_FALSE(told->skipped("moving").empty());
  CHECK(test.run(id, "7").value() == "7");
}

TEST_CASE("a container deleted while its files are read: its client is told the end it had") {
  require_jails();
  SessionsUnderTest test("[files]\nworkdir = { size = \"512M\" }\n");
  const std::string id = test.open();
  const auto told = test.begin(
      id, {"for i in range(16):\n  open(f'f{i}', 'wb').truncate(29 << 20)\nprint('go')"});
  test.until([&] { return contains(told->out, "go"); });
  const auto waits = test.begin(id, {"1"});
  test.pass(50ms);
  REQUIRE(test.service->remove("", id));
  CHECK_FALSE(waits->is_over);  // never from inside the call
  test.until([&] { return told->is_over && waits->is_over; });
  const std::string word = told->word();
  CHECK((word == "ok" || word == "killed"));
  CHECK(std::string(waits->word()) == "killed");
}

TEST_CASE("files over max_file and more than outputs are left out, and said") {
  require_jails();
  SessionsUnderTest test("[files]\nmax_file = \"64K\"\noutputs = 3\n");
  const std::string id = test.open();
  CHECK(test.put(id, "big", std::string(65537, 'x')).error().kind == Kind::kTooLarge);
  const File full = put(test, id, "full", std::string(65536, 'x'));
  const Told big =
      test.run(id, "open('full', 'a').write('x'); open('sparse', 'w').truncate(1 << 28);");
  CHECK(big.finished.files.empty());
  CHECK(contains(big.skipped("full"), "64K"));
  CHECK_FALSE(big.skipped("sparse").empty());
  CHECK(test.content(id, full.id).starts_with("refused: "));
  const Told many = test.run(id, "for i in range(5): open(f'f{i}', 'w').close()");
  CHECK(many.finished.files.size() == 3);
  CHECK(contains(many.skipped("f3"), "more than 3"));
  CHECK(contains(many.skipped("f4"), "more than 3"));
}

TEST_CASE("a full workdir is said, by code and by an upload") {
  require_jails();
  SessionsUnderTest test(
      "[files]\nworkdir = { size = \"1M\" }\nmax_file = "
      "\"1M\"\n");
  const std::string id = test.open();
  CHECK(test.put(id, "big", std::string(2 << 20, 'x')).error().kind == Kind::kTooLarge);
  CHECK(test.run(id, "import os; os.listdir('.')").value() == "[]");  // no half of it
  const Told told = test.run(id, "open('big', 'wb').write(bytes(2 << 20))");
  CHECK(std::string(told.word()) == "disk_full");
  CHECK(told.kept());
  // As full as before, it is the reason of no other failure.
  const Told other = test.run(id, "1 / 0");
  CHECK(std::string(other.word()) == "raised");
  CHECK_FALSE(other.finished.outcome.limit.has_value());
  CHECK(std::string(test.run(id, "os.remove('big')").word()) == "ok");
  CHECK(std::string(test.run(id, "open('again', 'wb').write(bytes(2 << 20))").word()) ==
        "disk_full");
  // What is replaced anyway makes room.
  REQUIRE(test.put(id, "again", std::string(700 << 10, 'x')));
  const auto again = test.put(id, "again", std::string(700 << 10, 'y'));
  REQUIRE(again);
  CHECK(test.content(id, again->id) == std::string(700 << 10, 'y'));
  CHECK(test.put(id, "other", std::string(700 << 10, 'z')).error().text ==
        "the container's workdir is full");
  CHECK(test.files(id).size() == 1);
}
