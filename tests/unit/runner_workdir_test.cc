#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "runner/session/out_dir.h"
#include "runner/session/workdir.h"

using namespace runner;
namespace fs = std::filesystem;

namespace {

class TempDir {
 public:
  TempDir() {
    std::string name = (fs::temp_directory_path() / "test-sandglass-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  // std::filesystem would recurse: 10,000 folders deep is what this test makes.
  ~TempDir() { std::ignore = std::system(("rm -rf '" + path_.string() + "'").c_str()); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  TempDir(TempDir&&) = delete;
  TempDir& operator=(TempDir&&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] jail::Fd open() const {
    return jail::Fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

 private:
  fs::path path_;
};

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

CollectLimits limits() { return {.max_file = jail::mib(30), .files = 50}; }

Collected bring_out(const TempDir& from, const TempDir& to, const CollectLimits& bounds = limits(),
                    std::span<const KnownInput> inputs = {}) {
  const auto out = OutDir::open(to.path().string());
  REQUIRE(out);
  return collect(from.open(), bounds, inputs,
                 [&](const std::string& path, const jail::Fd& file, jail::Bytes size) {
                   return out->put(path, file, size);
                 });
}

std::string reason_for(const Harvest& harvest, const std::string& path) {
  for (const Skipped& skipped : harvest.skipped) {
    if (skipped.path == path) return skipped.reason;
  }
  return "";
}

}  // namespace

TEST_CASE("new files come out with their folders and bytes") {
  const TempDir from;
  const TempDir to;
  fs::create_directories(from.path() / "plots/deep");
  write(from.path() / "a.txt", "hello");
  write(from.path() / "plots/deep/b.bin", std::string("\0\xff\n", 3));
  write(from.path() / "empty", "");
  const Collected collected = bring_out(from, to);
  REQUIRE_FALSE(collected.error);
  CHECK(collected.harvest.written.size() == 3);
  CHECK(collected.harvest.skipped_total == 0);
  CHECK(read(to.path() / "a.txt") == "hello");
  CHECK(read(to.path() / "plots/deep/b.bin") == std::string("\0\xff\n", 3));
  CHECK(fs::file_size(to.path() / "empty") == 0);
}

TEST_CASE("nothing but regular files is touched") {
  const TempDir from;
  const TempDir to;
  write(from.path() / "secret-target", "x");
  fs::create_symlink("/etc/passwd", from.path() / "link");
  fs::create_symlink("/etc", from.path() / "linkdir");
  REQUIRE(::mkfifo((from.path() / "fifo").c_str(), 0600) == 0);
  const jail::Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (from.path() / "sock").string();
  std::copy(name.begin(), name.end(), address.sun_path);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const Collected collected = bring_out(from, to);
  CHECK(collected.harvest.written.size() == 1);
  CHECK(reason_for(collected.harvest, "link") == "a symbolic link");
  CHECK(reason_for(collected.harvest, "linkdir") == "a symbolic link");
  CHECK(reason_for(collected.harvest, "fifo") == "a FIFO");
  CHECK(reason_for(collected.harvest, "sock") == "a socket");
  CHECK_FALSE(fs::exists(to.path() / "link"));
}

TEST_CASE("an 8 TiB sparse file is skipped by name and not read") {
  const TempDir from;
  const TempDir to;
  write(from.path() / "small", "1");
  const jail::Fd sparse(::open((from.path() / "huge").c_str(), O_CREAT | O_WRONLY, 0600));
  // ext4 allows 16 TiB, tmpfs 8 EiB; other file systems may allow less.
  const off_t size =
      ::ftruncate(sparse.get(), off_t{8} << 40U) == 0 ? off_t{8} << 40U : off_t{1} << 32U;
  REQUIRE(::ftruncate(sparse.get(), size) == 0);
  const auto start = std::chrono::steady_clock::now();
  const Collected collected = bring_out(from, to);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(collected.harvest.written.size() == 1);
  CHECK(reason_for(collected.harvest, "huge").find("over the limit of 30M") != std::string::npos);
}

TEST_CASE("inputs come back only if they were changed") {
  const TempDir from;
  const TempDir to;
  const TempDir host;
  for (const char* name : {"same", "edited", "longer"}) {
    write(host.path() / name, "12345");
    write(from.path() / name, "12345");
  }
  write(from.path() / "edited", "12x45");
  write(from.path() / "longer", "123456");
  std::vector<jail::Fd> fds;
  std::vector<KnownInput> inputs;
  fds.reserve(3);
  for (const char* name : {"same", "edited", "longer"}) {
    fds.emplace_back(::open((host.path() / name).c_str(), O_RDONLY));
    inputs.push_back({name, &fds.back()});
  }
  const Collected collected = bring_out(from, to, limits(), inputs);
  CHECK(collected.harvest.unchanged == 1);
  CHECK_FALSE(fs::exists(to.path() / "same"));
  CHECK(read(to.path() / "edited") == "12x45");
  CHECK(read(to.path() / "longer") == "123456");
}

TEST_CASE("names survive byte for byte") {
  const TempDir from;
  const TempDir to;
  const std::vector<std::string> names = {"new\nline", "\xff\xfe", " space ", "-rf", "\x1b[31m"};
  for (const std::string& name : names) write(from.path() / name, name);
  const Collected collected = bring_out(from, to);
  CHECK(collected.harvest.written.size() == names.size());
  for (const std::string& name : names) CHECK(read(to.path() / name) == name);
}

TEST_CASE("too many files are reported by name") {
  const TempDir from;
  const TempDir to;
  for (int i = 100; i < 360; ++i) write(from.path() / ("f" + std::to_string(i)), "x");
  const Collected collected = bring_out(from, to);
  CHECK(collected.harvest.written.size() == 50);
  CHECK(collected.harvest.skipped_total == 210);
  CHECK(collected.harvest.skipped.size() == kMaxSkipped);
  CHECK(collected.harvest.skipped.front().path == "f150");
  CHECK(collected.harvest.skipped.front().reason.find("files.outputs") != std::string::npos);
}

TEST_CASE("folders nested 10,000 deep neither crash nor take long") {
  const TempDir from;
  const TempDir to;
  jail::Fd at = from.open();
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(::mkdirat(at.get(), "d", 0755) == 0);
    at = jail::Fd(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at.valid());
  }
  write(from.path() / "z", "x");
  const auto start = std::chrono::steady_clock::now();
  const Collected collected = bring_out(from, to);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
  CHECK(collected.harvest.written.size() == 1);
  REQUIRE(collected.harvest.skipped.size() == 1);
  CHECK(collected.harvest.skipped[0].reason == "nested deeper than 32 folders");
}

TEST_CASE("a path longer than PATH_MAX still comes out") {
  const TempDir from;
  const TempDir to;
  const std::string name(250, 'n');
  jail::Fd at = from.open();
  for (int i = 0; i < 20; ++i) {
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0755) == 0);
    at = jail::Fd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const jail::Fd file(::openat(at.get(), "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  REQUIRE(file.valid());
  CHECK(bring_out(from, to).harvest.written.size() == 1);
}

TEST_CASE("the walk stops after so many entries and says so") {
  const TempDir from;
  const TempDir to;
  for (int i = 0; i < 40; ++i) write(from.path() / std::to_string(i), "x");
  CollectLimits few = limits();
  few.entries = 10;
  const Collected collected = bring_out(from, to, few);
  CHECK(collected.harvest.written.size() == 10);
  REQUIRE(collected.harvest.skipped_total == 1);
  CHECK(collected.harvest.skipped[0].reason.find("more than 10 entries") != std::string::npos);
}

TEST_CASE("links planted in the destination are replaced or refused, never followed") {
  const TempDir from;
  const TempDir to;
  const TempDir elsewhere;
  write(elsewhere.path() / "victim", "precious");
  fs::create_symlink(elsewhere.path() / "victim", to.path() / "a");
  fs::create_symlink(elsewhere.path(), to.path() / "sub");
  fs::create_directories(to.path() / "folder");
  fs::create_directories(from.path() / "sub");
  write(from.path() / "a", "new");
  write(from.path() / "folder", "a file where the host has a folder");
  write(from.path() / "sub/victim", "new");
  const Collected collected = bring_out(from, to);
  REQUIRE_FALSE(collected.error);
  CHECK(read(elsewhere.path() / "victim") == "precious");
  CHECK(fs::is_regular_file(fs::symlink_status(to.path() / "a")));
  CHECK(read(to.path() / "a") == "new");
  CHECK(reason_for(collected.harvest, "sub/victim").find("cannot be written") != std::string::npos);
  CHECK(reason_for(collected.harvest, "folder").find("cannot be written") != std::string::npos);
  // No temporary file is left.
  CHECK(std::distance(fs::directory_iterator(to.path()), fs::directory_iterator()) == 3);
}

TEST_CASE("no room on the host ends the delivery with the file's name") {
  const jail::Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) return;
  const TempDir from;
  write(from.path() / "a", "x");
  const Collected collected =
      collect(from.open(), limits(), {}, [](const std::string& path, const jail::Fd&, jail::Bytes) {
        return tl::unexpected<Undelivered>(
            Undelivered{Undelivered::Then::kStop, "no room for " + path});
      });
  REQUIRE(collected.error);
  CHECK(collected.error->text == "no room for a");
  CHECK(collected.harvest.written.empty());
}

TEST_CASE("the destination is made, or the error says what is in the way") {
  const TempDir base;
  CHECK(OutDir::open((base.path() / "fresh").string()));
  CHECK(fs::is_directory(base.path() / "fresh"));
  write(base.path() / "file", "x");
  const auto in_the_way = OutDir::open((base.path() / "file").string());
  REQUIRE_FALSE(in_the_way);
  CHECK(in_the_way.error().text.find("ENOTDIR") != std::string::npos);
  CHECK_FALSE(OutDir::open((base.path() / "no/parent").string()));
}
