#include <sched.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>

#include "policies/argtest.h"

using namespace policies;
using jail::ArgTest;
using jail::CompareOp;

namespace {

const std::vector<std::string> kNames{"addr", "length", "prot", "flags"};

std::string error(const char* line) {
  const auto tests = parse_tests(line, kNames);
  return tests ? "" : tests.error().text;
}

}  // namespace

TEST_CASE("comparisons, masks and constants") {
  CHECK(parse_tests("prot & PROT_EXEC == 0", kNames).value() ==
        std::vector{ArgTest{2, CompareOp::kEqual, PROT_EXEC, 0}});
  CHECK(parse_tests("prot & (PROT_EXEC|PROT_WRITE) == PROT_EXEC and flags & 0x20 == 0", kNames)
            .value() ==
        std::vector{ArgTest{2, CompareOp::kEqual, PROT_EXEC | PROT_WRITE, PROT_EXEC},
                    ArgTest{3, CompareOp::kEqual, 0x20, 0}});
  CHECK(parse_tests("length <= 4096 and addr < 7", kNames).value() ==
        std::vector{ArgTest{1, CompareOp::kLessEqual, ~0ULL, 4096},
                    ArgTest{0, CompareOp::kLess, ~0ULL, 7}});
  CHECK(parse_tests("flags & ~0xf == 0x20", kNames).value() ==
        std::vector{ArgTest{3, CompareOp::kEqual, ~0xfULL, 0x20}});
  CHECK(parse_tests("flags == CLONE_VM|CLONE_THREAD", kNames).value() ==
        std::vector{ArgTest{3, CompareOp::kEqual, ~0ULL, CLONE_VM | CLONE_THREAD}});
}

TEST_CASE("a wrong test says why") {
  CHECK(error("size == 1") == "\"size\" is not one of the arguments: addr, length, prot, flags");
  CHECK(error("prot == PROT_FLY") == "\"PROT_FLY\" is neither a number nor a known constant");
  CHECK(error("prot") == "expected ==, < or <=, found \"\"");
  CHECK(error("prot & 1 < 2") == "a mask goes with == only");
  CHECK(error("prot & 1 == 2") == "the value has bits outside the mask");
  CHECK(error("prot == 1 or prot == 2") == "expected \"and\" or the end, found \"or\"");
  CHECK(error("prot == 1 and prot == 2") ==
        "an argument is tested twice in one line; write two lines, or one mask");
  CHECK(error("prot & (1 == 1") == "a \")\" is missing");
  CHECK(error("") == "\"\" is not one of the arguments: addr, length, prot, flags");
  CHECK(error("prot == 18446744073709551616") ==
        "\"18446744073709551616\" is neither a number nor a known constant");
}

// The kernel looks at the lower half of a 32-bit argument only, the filter at both.
TEST_CASE("tests that the upper half could pass by are not offered") {
  for (const char* line : {"prot != 1", "prot > 1", "prot >= 1"})
    CHECK(error(line).find("could be passed by; say what is allowed") != std::string::npos);
}
