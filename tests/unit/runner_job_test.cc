#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runner/session/content.h"
#include "runner/session/job.h"
#include "tests/support/temp_dir.h"

using namespace runner;

namespace {

// Policies as shipped; a share folder without warm caches.
const policies::Library& library() {
  static const auto opened = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(opened);
  return *opened;
}

Home home() { return {"/nowhere/spawner", SANDGLASS_POLICIES, "/nowhere/share"}; }

Job code_job(const std::string& policy, const std::string& language,
             const std::string& file_name = {}) {
  Job job;
  job.policy = policy;
  job.what = Code{language, file_name, std::move(*content_of("x")), {}};
  return job;
}

std::string error_of(Job job) {
  const auto prepared = prepare(home(), library(), std::move(job));
  return prepared ? "" : prepared.error().text;
}

}  // namespace

TEST_CASE("variables of the loader are refused, others pass") {
  CHECK(check_env("A=b"));
  CHECK(check_env("_x9="));
  CHECK(check_env("PYTHONPATH=/x"));
  for (const char* bad : {"", "=x", "A", "9A=x", "A-B=x", "A B=x", "\xff=x"}) {
    CHECK_FALSE(check_env(bad));
  }
  for (const char* loader :
       {"LD_PRELOAD=x", "LD_AUDIT=", "GCONV_PATH=x", "GLIBC_TUNABLES=x", "MALLOC_ARENA_MAX=1"}) {
    const auto checked = check_env(loader);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().kind == ErrorKind::kUsage);
    CHECK(checked.error().text.find("loader") != std::string::npos);
  }
}

TEST_CASE("a bind splits at the target, and a name may hold a colon") {
  const support::TempDir temp;
  std::filesystem::create_directory(temp.path() / "a:b");
  const std::string odd = (temp.path() / "a:b").string();
  REQUIRE(parse_bind(odd));
  CHECK(parse_bind(odd)->source == odd);
  CHECK(parse_bind(odd)->target == odd);
  CHECK(parse_bind(odd + ":/opt/x")->source == odd);
  CHECK(parse_bind(odd + ":/opt/x")->target == "/opt/x");
  CHECK(parse_bind("/usr/")->source == "/usr");
  CHECK_FALSE(parse_bind("/no/such/thing"));
  CHECK_FALSE(parse_bind("/usr:/opt/../etc"));
  CHECK_FALSE(parse_bind(""));
}

TEST_CASE("languages by word and by ending") {
  CHECK(canonical_language("python3") == "python");
  CHECK(canonical_language("js") == "node");
  CHECK(canonical_language("sh") == "bash");
  CHECK(canonical_language("cobol") == "cobol");
  const auto standard = library().find("standard");
  REQUIRE(standard);
  CHECK(language_of_file(*standard, "a.py") == "python");
  CHECK(language_of_file(*standard, "dir.py/a.mjs") == "node");
  CHECK(language_of_file(*standard, "a.sh") == "bash");
  CHECK(language_of_file(*standard, "a.pl") == "perl");
  CHECK(language_of_file(*standard, "Makefile").empty());
}

TEST_CASE("a language that is missing says where it is") {
  const std::string tight = error_of(code_job("tight", "node"));
  CHECK(tight.find("does not declare the language node") != std::string::npos);
  CHECK(tight.find("it declares") != std::string::npos);
  CHECK(tight.find("--policy standard") != std::string::npos);
  CHECK(error_of(code_job("tight", "", "x.sh")).find("language bash") != std::string::npos);
  CHECK(error_of(code_job("standard", "cobol")).find("no shipped policy") != std::string::npos);
  CHECK(error_of(code_job("restricted", "")).find("starts no process") != std::string::npos);
  CHECK(error_of(code_job("nope", "")).find("no policy \"nope\"") != std::string::npos);
}

TEST_CASE("code lies read-only where the interpreter finds it") {
  const auto prepared = prepare(home(), library(), code_job("tight", "python3"));
  REQUIRE(prepared);
  CHECK(prepared->language == "python");
  REQUIRE(prepared->input_paths.size() == 1);
  CHECK(prepared->input_paths[0] == "/run/sandglass/main.py");
  CHECK(prepared->known_inputs().empty());
}

TEST_CASE("a module keeps its ending") {
  if (::access("/usr/bin/node", X_OK) != 0) return;  // the interpreter is looked for
  const auto prepared = prepare(home(), library(), code_job("standard", "", "x.mjs"));
  REQUIRE(prepared);
  CHECK(prepared->input_paths[0] == "/run/sandglass/main.mjs");
}

TEST_CASE("files for the workdir: doubles, too much, too many") {
  Job twice = code_job("tight", "");
  twice.files.push_back({"a\nb", std::move(*content_of("1"))});
  twice.files.push_back({"a\nb", std::move(*content_of("2"))});
  const std::string doubles = error_of(std::move(twice));
  CHECK(doubles.find("two files are named a\\nb") != std::string::npos);

  Job large = code_job("tight", "");
  jail::Fd sparse = std::move(*content_of(""));
  REQUIRE(::ftruncate(sparse.get(), off_t{1} << 40U) == 0);
  large.files.push_back({"huge", std::move(sparse)});
  const std::string too_large = error_of(std::move(large));
  CHECK(too_large.find("do not fit") != std::string::npos);

  Job many = code_job("tight", "");
  for (int i = 0; i < 250; ++i) {
    many.files.push_back({std::to_string(i), std::move(*content_of("x"))});
  }
  const std::string too_many = error_of(std::move(many));
  CHECK(too_many.find("200") != std::string::npos);

  Job fine = code_job("tight", "");
  fine.files.push_back({"in.csv", std::move(*content_of("x"))});
  const auto prepared = prepare(home(), library(), std::move(fine));
  REQUIRE(prepared);
  REQUIRE(prepared->known_inputs().size() == 1);
  CHECK(prepared->known_inputs()[0].path == "in.csv");
}

TEST_CASE("content comes from files, pipes and strings") {
  const support::TempDir temp;
  CHECK_FALSE(content_of_file(temp / "missing", jail::mib(1)));
  CHECK(content_of_file(temp.path().string(), jail::mib(1)).error().text.find("directory") !=
        std::string::npos);
  std::ofstream(temp / "f") << std::string(2000, 'x');
  CHECK(content_of_file(temp / "f", jail::Bytes{1999}).error().text.find("larger") !=
        std::string::npos);
  CHECK(size_of(*content_of_file(temp / "f", jail::Bytes{2000})).value == 2000);
  CHECK(size_of(*content_of_file("/dev/null", jail::mib(1))).value == 0);
  CHECK_FALSE(content_of_file("/dev/zero", jail::mib(1)));
  const std::string bytes("a\0b", 3);
  const auto kept = content_of(bytes);
  REQUIRE(kept);
  char buffer[4] = {};
  CHECK(::read(kept->get(), buffer, sizeof buffer) == 3);
  CHECK(std::string(buffer, 3) == bytes);
}

TEST_CASE("errors know their exit code") {
  const auto with = [](jail::Step step, int error) {
    return exit_code_of({ErrorKind::kSetup, "", jail::SetupError{step, 0, error}});
  };
  CHECK(with(jail::Step::kExec, ENOENT) == 127);
  CHECK(with(jail::Step::kExec, EACCES) == 126);
  CHECK(with(jail::Step::kExec, ENOEXEC) == 126);
  CHECK(with(jail::Step::kMount, ENOENT) == 125);
  CHECK(exit_code_of({ErrorKind::kUsage, "", std::nullopt}) == 125);
}
