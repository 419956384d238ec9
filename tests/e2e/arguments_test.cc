// Bad input on the command line: one line on stderr, what and how to mend it, exit code 125, and no
// jail. And code that is odd, but can be run.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/e2e.h"
#include "tests/support/require.h"

using namespace e2e;
namespace fs = std::filesystem;

namespace {

// Refused before anything runs: 125, nothing on stdout, one line.
std::string refused(const Words& args) {
  const Ran ran = run(args);
  CHECK(ran.code == 125);
  CHECK(ran.out == "");
  return line(ran);
}

std::string refused_limit(const std::string& option) {
  return refused({"run", option, "-c", "print('it ran')"});
}

}  // namespace

TEST_CASE("code that is not there, not a file, or not given") {
  const support::TempDir folder;
  CHECK(refused({"run", folder / "none.py"}) ==
        "sandglass: cannot open " + folder / "none.py" + ": ENOENT; see whether the path is right");
  CHECK(refused({"run", folder.path()}) ==
        "sandglass: " + folder.path().string() + " is a directory; give a file");
  CHECK(refused({"run"}) == "sandglass: run: no code; give -c CODE, a file, or - for stdin");
  CHECK(refused({"run", "-c", "1", folder / "x.py"}) ==
        "sandglass: run: both -c and a file; give one, and arguments after --");
  CHECK(refused({"exec"}) ==
        "sandglass: exec: no command; write it after --, for example sandglass exec -- ls -l");
  CHECK(refused({"fly"}) == "sandglass: no command fly; sandglass --help lists them");
  CHECK(contains(refused({"run", "--no-such-option", "-c", "1"}), "--no-such-option"));
}

TEST_CASE("a value that is not there, and words too many") {
  CHECK(refused({"run", "--memory=", "-c", "1"}) ==
        "sandglass: run: --memory= is empty: give a value; see sandglass run --help");
  CHECK(refused({"exec", "--policy", "tight", "--memory=", "--", "true"}) ==
        "sandglass: exec: --memory= is empty: give a value; see sandglass exec --help");
  const std::string many = refused({"run", "x.py", "one", "two"});
  CHECK(contains(many, "one"));
  CHECK(contains(many, "; the program's arguments go after --"));
  require_jails();
  // What belongs to the program is no business of ours.
  CHECK(run({"exec", "echo", "--memory="}).out == "--memory=\n");
  CHECK(run({"run", "-c", "import sys; print(sys.argv[1])", "--", "--memory="}).out ==
        "--memory=\n");
}

TEST_CASE("a word that SANDGLASS_CGROUP does not know") {
  Call call{.args = {"run", "-c", "print('it ran')"}};
  call.env = {"SANDGLASS_CGROUP=v3"};
  const Ran ran = run(call);
  CHECK(ran.code == 125);
  CHECK(line(ran) ==
        "sandglass: SANDGLASS_CGROUP=v3: not a word it knows; it may be none, v1 or v2, or unset");
}

TEST_CASE("a current folder that is gone") {
  const support::TempDir folder;
  Call call{.args = {"-c",
                     "mkdir gone && cd gone && rmdir ../gone && exec \"$BIN\" run --policy "
                     "./mine.toml -c 1"}};
  call.program = "/bin/sh";
  call.cwd = folder.path();
  call.env = {"BIN=" + support::sandglass_path()};
  const Ran ran = run(call);
  CHECK(ran.code == 125);
  CHECK(line(ran) ==
        "sandglass: ./mine.toml: ENOENT; see whether the current folder still exists, or give an "
        "absolute path");
}

TEST_CASE("a file that we may not read") {
  support::require(support::Feature::kUnprivileged);
  const support::TempDir folder;
  write(folder / "secret.py", "print(1)\n");
  REQUIRE(::chmod((folder / "secret.py").c_str(), 0) == 0);
  CHECK(refused({"run", folder / "secret.py"}) ==
        "sandglass: cannot open " + folder / "secret.py" +
            ": EACCES; give yourself the right to read it");
  CHECK(contains(refused({"run", "--in", folder / "secret.py", "-c", "1"}), "EACCES"));
}

TEST_CASE("the same as JSON: an error object, and no outcome") {
  for (const Words& words : {Words{"run", "--json", "--bogus", "-c", "1"},
                             Words{"run", "--memory=", "--json", "-c", "1"}}) {
    const Ran wrong = run(words);
    CHECK(wrong.code == 125);
    CHECK(text(document(wrong).at("error").as_object(), "kind") == "usage");
  }
  const Ran ran = run({"run", "--json", "/no/such/file.py"});
  CHECK(ran.code == 125);
  const boost::json::object object = document(ran);
  CHECK_FALSE(object.contains("outcome"));
  const boost::json::object& error = object.at("error").as_object();
  CHECK(text(error, "kind") == "files");
  CHECK(contains(text(error, "text"), "/no/such/file.py: ENOENT"));
}

TEST_CASE("a policy that does not exist, or is none") {
  const support::TempDir folder;
  CHECK(refused({"run", "--policy", "strict", "-c", "1"}) ==
        "sandglass: there is no policy \"strict\"; there are loose, restricted, standard, tight; a "
        "file of your own is named by its path, e.g. ./mine.toml");
  CHECK(contains(refused({"run", "--policy", "./none.toml", "-c", "1"}), "none.toml"));
  write(folder / "bad.toml", "name = \"bad\"\nextends = \"tight\"\nwhy = \"x\"\nspeed = 3\n");
  const std::string unknown_key = refused({"run", "--policy", folder / "bad.toml", "-c", "1"});
  CHECK(contains(unknown_key, folder / "bad.toml" + ":4:1: "));
  CHECK(contains(unknown_key, "speed"));
  write(folder / "empty.toml", "");
  CHECK(contains(refused({"run", "--policy", folder / "empty.toml", "-c", "1"}), "empty.toml"));
  write(folder / "garbage.toml", std::string(1 << 20, '\xff'));
  CHECK(refused({"run", "--policy", folder / "garbage.toml", "-c", "1"}).size() < 1000);
}

TEST_CASE("limits that are no limits") {
  for (const char* wrong : {"--memory=0", "--memory=-1", "--memory=12Q", "--memory=64",
                            "--memory=1180591620717411303424", "--memory=1180591620717411303424G",
                            "--memory=1.5G", "--memory=nan"}) {
    INFO(wrong);
    CHECK(contains(refused_limit(wrong), "sandglass: --memory"));
  }
  for (const char* wrong : {"--processes=0", "--processes=-1", "--processes=12Q",
                            "--processes=1180591620717411303424"}) {
    INFO(wrong);
    CHECK(contains(refused_limit(wrong), "sandglass: --processes"));
  }
  for (const char* option :
       {"--cpu-time", "--wall-time", "--file-size", "--workdir-size", "--output"}) {
    for (const char* value : {"0", "-1", "12Q", "1180591620717411303424"}) {
      INFO(option << "=" << value);
      CHECK(contains(refused_limit(std::string(option) + "=" + value),
                     std::string("sandglass: ") + option + " " + value + ": "));
    }
  }
}

TEST_CASE("a wish to loosen is refused, and says what the policy gives") {
  const std::pair<const char*, const char*> wishes[] = {
      {"--memory=64G", "memory: 64G was asked for, but the policy \"tight\" gives 1G"},
      {"--cpu-time=31s", "cpu_time: 31s was asked for, but the policy \"tight\" gives 30s"},
      {"--wall-time=11s", "wall_time: 11s was asked for, but the policy \"tight\" gives 10s"},
      {"--processes=65", "processes: 65 was asked for, but the policy \"tight\" gives 64"},
      {"--file-size=1G", "file_size: 1G was asked for, but the policy \"tight\" gives 128M"},
      {"--workdir-size=1G", "workdir_size: 1G was asked for, but the policy \"tight\" gives 256M"},
      {"--output=2M", "output: 2M was asked for, but the policy \"tight\" gives 1M"}};
  for (const auto& [wish, answer] : wishes) {
    CHECK(refused({"run", "--policy", "tight", wish, "-c", "1"}).find(answer) == 11);
  }
}

TEST_CASE("a wish to tighten is granted, and stands in the outcome") {
  require_jails();
  const auto object = report({"run", "--json", "--policy", "tight", "--memory=100M",
                              "--wall-time=9s", "--processes=7", "--output=2K", "-c", "pass"});
  const boost::json::object& limits = object.at("limits").as_object();
  CHECK(limits.at("memory").at("value") == 100 << 20);
  CHECK(limits.at("wall_time").at("value") == 9000);
  CHECK(limits.at("processes").at("value") == 7);
  CHECK(limits.at("output").at("value") == 2048);
}

TEST_CASE("a limit we are under ourselves is the payload's, and said to be") {
  require_jails();
  Call call{.args = {"run", "--json", "-c",
                     "import resource as r\nfor name in ('NOFILE', 'FSIZE', 'CPU'):\n"
                     "    print(r.getrlimit(getattr(r, 'RLIMIT_' + name))[0])\n"}};
  call.before_exec = [] {
    const rlimit files{300, 300};
    const rlimit size{8 << 20, 8 << 20};
    const rlimit cpu{40, 40};
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0 || ::setrlimit(RLIMIT_FSIZE, &size) != 0 ||
        ::setrlimit(RLIMIT_CPU, &cpu) != 0)
      ::_exit(99);
  };
  const auto object = document(run(call));
  CHECK(text(object, "stdout") == "300\n8388608\n40\n");
  const boost::json::object& limits = object.at("limits").as_object();
  CHECK(limits.at("open_files").at("value") == 300);
  CHECK(limits.at("file_size").at("value") == 8 << 20);
  CHECK(text(limits.at("file_size").as_object(), "limit") == "8M");
  CHECK(limits.at("cpu_time").at("value") == 40'000);
}

TEST_CASE("an environment or a bind that is not one") {
  CHECK(contains(refused({"run", "--env", "NOVALUE", "-c", "1"}), "--env NOVALUE: not NAME=VALUE"));
  CHECK(contains(refused({"run", "--env", "LD_PRELOAD=/x.so", "-c", "1"}), "--env LD_PRELOAD"));
  CHECK(contains(refused({"run", "--ro-bind", "/no/such", "-c", "1"}), "/no/such does not exist"));
  CHECK(run({"run", "--ro-bind", "/:/host", "-c", "print('it ran')"}).code == 125);
  CHECK(run({"run", "--ro-bind", "/proc:/host", "-c", "print('it ran')"}).code == 125);
}

TEST_CASE("a bind is judged by where its links lead") {
  const support::TempDir folder;
  for (const char* place : {"/", "/proc", "/proc/1", "/sys", "/dev", "/run"}) {
    INFO(place);
    const std::string link = folder / "link";
    fs::remove(link);
    fs::create_symlink(place, link);
    const Ran ran = run({"run", "--ro-bind", link + ":/shown", "-c", "print('it ran')"});
    CHECK(ran.code == 125);
    CHECK(ran.out == "");
    CHECK(contains(line(ran), "sandglass: --ro-bind: "));
  }
  require_jails();
  fs::permissions(folder.path(), fs::perms(0755));
  fs::create_directories(folder / "real");
  write(folder / "real/file", "hello\n");
  fs::create_symlink("real", folder / "good");
  const Ran ran = run({"exec", "--ro-bind", folder / "good", "--", "cat", folder / "good/file"});
  CHECK(ran.out == "hello\n");
}

TEST_CASE("an input without an end is cut off, not kept") {
  CHECK(refused({"run", "--in", "/dev/zero", "-c", "1"}) ==
        "sandglass: --in: /dev/zero is larger than the 256M that fit; give a smaller file");
  CHECK(refused({"run", "/dev/zero"}) ==
        "sandglass: /dev/zero is larger than the 63M that fit; give a smaller file");
}

TEST_CASE("a language the policy lacks, and one this host lacks") {
  const support::TempDir folder;
  CHECK(contains(refused({"run", "--policy", "tight", "--lang", "node", "-c", "1"}),
                 "the policy \"tight\" does not declare the language node; it declares perl, python"
                 "; loose, standard do: try --policy standard"));
  CHECK(contains(refused({"run", "--lang", "cobol", "-c", "1"}), "no shipped policy does"));
  write(folder / "mine.toml",
        "name = \"mine\"\nextends = \"standard\"\nwhy = \"a node elsewhere\"\n"
        "[interpreters.node]\ncommand = [\"/usr/bin/no-such-node\"]\n"
        "extension = \".js\"\npackage = \"nodejs\"\n");
  CHECK(refused({"run", "--policy", folder / "mine.toml", "--lang", "node", "-c", "1"}) ==
        "sandglass: node is not on this host: /usr/bin/no-such-node is missing; "
        "apt-get install nodejs");
}

TEST_CASE("ten megabytes of code") {
  require_jails();
  const support::TempDir folder;
  const std::string code = std::string(10 << 20, '#') + "\nprint(6 * 7)\n";
  write(folder / "large.py", code);
  const Ran from_file = run({"run", folder / "large.py"});
  CHECK(from_file.code == 0);
  CHECK(from_file.out == "42\n");
  CHECK(from_file.err == "");
  Call call{.args = {"run", "-"}};
  call.input = code;
  CHECK(run(call).out == "42\n");
  write(folder / "too_large.py", std::string(64 << 20, '#'));
  CHECK(refused({"run", folder / "too_large.py"}) ==
        "sandglass: " + folder / "too_large.py" +
            " is larger than the 63M that fit; give a smaller file");
}

TEST_CASE("NUL bytes, no bytes and no text as code") {
  require_jails();
  const support::TempDir folder;
  // perl takes a NUL inside a string as any other character.
  const std::string code("print length(\"a\0b\"), \"\\n\";\n", 26);
  write(folder / "nul.pl", code);
  const Ran perl = run({"run", folder / "nul.pl"});
  CHECK(perl.code == 0);
  CHECK(perl.out == "3\n");
  // python does not, and says so itself: the exit code is its own.
  write(folder / "nul.py", std::string("x = '\0'\n", 8));
  const Ran python = run({"run", folder / "nul.py"});
  CHECK(python.code == 1);
  CHECK(contains(python.err, "SyntaxError"));
  write(folder / "empty.py", "");
  CHECK(run({"run", folder / "empty.py"}).code == 0);
  write(folder / "noise.py", "\xff\xfe\x80");
  CHECK(contains(run({"run", folder / "noise.py"}).err, "SyntaxError"));
}
