// --in and --out: what goes in comes back only when it changed, and nothing but plain files below
// the workdir comes out.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/e2e.h"

using namespace e2e;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

struct Both {
  support::TempDir folder;
  std::string out = folder / "out";

  Words python(const std::string& code, Words options = {"--json"}) const {
    Words args = {"run", "--out", out, "-c", code};
    args.insert(args.end(), options.begin(), options.end());
    return args;
  }
};

std::string reason_for(const json::object& object, const std::string& path) {
  for (const json::value& entry : object.at("files").at("skipped").as_array()) {
    if (text(entry.as_object(), "path") == path) return text(entry.as_object(), "reason");
  }
  return "not skipped";
}

}  // namespace

TEST_CASE("a file goes in, and what was made of it comes out") {
  require_jails();
  const Both both;
  const std::string bytes("a\0\xff\r\n\x1a", 6);
  write(both.folder / "in.bin", bytes);
  write(both.folder / "same.txt", "untouched\n");
  const auto object = report(
      both.python("data = open('in.bin', 'rb').read()\n"
                  "import os\nos.makedirs('a/b')\n"
                  "open('a/b/reversed', 'wb').write(data[::-1])\n"
                  "open('in.bin', 'ab').write(b'!')\n",
                  {"--json", "--in", both.folder / "in.bin", "--in", both.folder / "same.txt"}));
  CHECK(text(object, "outcome") == "ok");
  CHECK(tree(both.out) == Words{"a/", "a/b/", "a/b/reversed", "in.bin"});
  CHECK(contents(both.out + "/a/b/reversed") == std::string("\x1a\n\r\xff\0a", 6));
  CHECK(contents(both.out + "/in.bin") == bytes + "!");
  CHECK(contents(both.folder / "in.bin") == bytes);
  struct stat info {};
  REQUIRE(::stat((both.out + "/in.bin").c_str(), &info) == 0);
  CHECK(info.st_uid == ::geteuid());   // whatever uid the jail had
  CHECK((info.st_mode & 07111) == 0);  // nothing to run
  const json::object& files = object.at("files").as_object();
  CHECK(files.at("unchanged") == 1);
  CHECK(files.at("skipped_total") == 0);
  REQUIRE(files.at("written").as_array().size() == 2);
  CHECK(files.at("written").as_array()[0].at("bytes") == 7);
}

TEST_CASE("links, FIFOs and sockets do not come out, and are named") {
  require_jails();
  const Both both;
  write(both.folder / "canary", "CANARY\n");
  const auto object =
      report(both.python("import os, socket\n"
                         "os.symlink('" +
                         both.folder / "canary" +
                         "', 'link')\n"
                         "os.symlink('/etc/passwd', 'passwd')\n"
                         "os.symlink('/', 'root')\n"
                         "os.symlink('plain', 'inner')\n"
                         "os.mkfifo('fifo')\n"
                         "socket.socket(socket.AF_UNIX).bind('socket')\n"
                         "open('plain', 'w').write('x')\n"));
  CHECK(text(object, "outcome") == "ok");
  CHECK(tree(both.out) == Words{"plain"});
  for (const char* name : {"link", "passwd", "root", "inner"})
    CHECK(reason_for(object, name) == "a symbolic link");
  CHECK(reason_for(object, "fifo") == "a FIFO");
  CHECK(reason_for(object, "socket") == "a socket");
  CHECK(object.at("files").at("skipped_total") == 6);
}

TEST_CASE("what is too large or too much is left, by name") {
  require_jails();
  const Both both;
  const auto object =
      report(both.python("with open('large', 'wb') as f: f.truncate((30 << 20) + 1)\n"
                         "with open('largest', 'wb') as f: f.truncate(30 << 20)\n"
                         "for i in range(60): open(f'n{i:02}', 'w').write('x')\n"));
  CHECK(reason_for(object, "large") ==
        "31457281B is over the limit of 30M a file (files.max_file)");
  CHECK(object.at("files").at("written").as_array().size() == 50);
  CHECK(object.at("files").at("skipped_total") == 12);
  CHECK(reason_for(object, "n59") == "over the limit of 50 files (files.outputs)");
  CHECK(fs::file_size(both.out + "/largest") == 30 << 20);
  CHECK(tree(both.out).size() == 50);
}

TEST_CASE("names with line feeds, escapes and invalid UTF-8 come out as they are") {
  require_jails();
  const Both both;
  const std::string code =
      "for name in b'a\\nb', b'\\xff\\xfe', b'\\x1b[31m', b'-rf', b'...', b' ':\n"
      "    open(name, 'w').write('x')\n"
      "import os\nos.symlink('/', b'link\\n\\xff\\x1b[2J')\n";
  const auto object = report(both.python(code));
  CHECK(tree(both.out) == Words{"\x1b[31m", " ", "-rf", "...", "a\nb", "\xff\xfe"});
  const json::object& last = object.at("files").at("written").as_array().back().as_object();
  CHECK(text(last, "path_base64") == "//4=");
  const Ran plain = run(both.python(code, {}));
  CHECK(plain.code == 0);
  const std::string said = line(plain);  // one line, whatever the names
  CHECK(said.find('\x1b') == std::string::npos);
  CHECK(contains(said, "a symbolic link"));
}

TEST_CASE("an output folder that was prepared with links is not followed out of") {
  require_jails();
  const Both both;
  fs::create_directories(both.out);
  fs::create_directories(both.folder / "elsewhere");
  write(both.folder / "victim", "before\n");
  fs::create_symlink(both.folder / "elsewhere", both.out + "/sub");
  fs::create_symlink(both.folder / "victim", both.out + "/file");
  const auto object =
      report(both.python("import os\nos.mkdir('sub')\nopen('sub/x', 'w').write('escaped')\n"
                         "open('file', 'w').write('mine')\n"));
  CHECK(contents(both.folder / "victim") == "before\n");
  CHECK(tree(both.folder / "elsewhere").empty());
  CHECK(contains(reason_for(object, "sub/x"), "it cannot be written to"));
  CHECK(contents(both.out + "/file") == "mine");  // the link was replaced, not followed
  CHECK_FALSE(fs::is_symlink(both.out + "/file"));
}

TEST_CASE("a workdir that was emptied, deleted or closed") {
  require_jails();
  const Both both;
  write(both.folder / "in.txt", "x");
  const auto emptied = report(
      both.python("import os\nos.remove('in.txt')\n", {"--json", "--in", both.folder / "in.txt"}));
  CHECK(text(emptied, "outcome") == "ok");
  CHECK(tree(both.out).empty());
  const auto deleted =
      report(both.python("import os, shutil\n"
                         "open('keep', 'w').write('x')\n"
                         "try: shutil.rmtree(os.getcwd())\n"
                         "except OSError as error: print(error.errno)\n"));
  CHECK(text(deleted, "outcome") == "ok");
  CHECK(text(deleted, "stdout") == "30\n");  // EROFS: the mount itself stays
  CHECK(tree(both.out).empty());
  const auto closed =
      report(both.python("import os\nos.mkdir('d')\nopen('d/x', 'w').write('x')\nos.chmod('d', 0)\n"
                         "open('y', 'w').write('y')\nos.chmod('y', 0)\n"));
  CHECK(text(closed, "outcome") == "ok");
}

TEST_CASE("files come out of a run that failed, and of one that was killed") {
  require_jails();
  const Both both;
  const Ran failed = run(both.python("open('a', 'w').write('x'); raise SystemExit(3)", {}));
  CHECK(failed.code == 3);
  CHECK(contents(both.out + "/a") == "x");
  const Ran killed =
      run(both.python("open('b', 'w').write('y')\nwhile True: pass", {"--wall-time=500ms"}));
  CHECK(killed.code == 124);
  CHECK(contents(both.out + "/b") == "y");
}

TEST_CASE("inputs that cannot be put in") {
  const Both both;
  fs::create_directories(both.folder / "sub");
  write(both.folder / "x", "1");
  write(both.folder / "sub/x", "2");
  const Ran twice =
      run({"run", "--in", both.folder / "x", "--in", both.folder / "sub/x", "-c", ""});
  CHECK(twice.code == 125);
  CHECK(contains(line(twice), "--in: two files are named x"));
  CHECK(contains(line(run({"run", "--in", both.folder / "sub", "-c", ""})), "is a directory"));
  CHECK(contains(line(run({"run", "--in", both.folder / "none", "-c", ""})), "ENOENT"));
  write(both.folder / "big", std::string(2 << 20, 'x'));
  const Ran big = run({"run", "--workdir-size=1M", "--in", both.folder / "big", "-c", ""});
  CHECK(big.code == 125);
  CHECK(contains(line(big), "--in: 2M do not fit into /mnt/data"));
  const Ran out = run({"run", "--out", both.folder / "none/deeper", "-c", ""});
  CHECK(out.code == 125);
  CHECK(contains(line(out), "cannot make the folder: ENOENT"));
}

TEST_CASE("folders ten thousand deep: a bounded walk, and what was left is named") {
  require_jails();
  const Both both;
  Words args = payload({"--json", "--out", both.out}, {"makes_deep_folders", "/mnt/data", "10000"});
  Call call{.args = args};
  call.patience = std::chrono::seconds(110);
  const Ran ran = run(call, std::chrono::seconds(110));
  const json::object object = document(ran);
  CHECK(text(object, "outcome") == "ok");
  CHECK(contains(text(object, "stdout"), "depth 10000\n"));
  CHECK(object.at("files").at("skipped_total").as_int64() >= 1);
  CHECK(contains(json::serialize(object.at("files")), "nested deeper than"));
}
