#include <catch2/catch.hpp>

#include "policies/quantity.h"

using namespace policies;
using jail::Bytes;
using jail::Millis;

TEST_CASE("sizes are read in powers of 1024") {
  CHECK(parse_size("512M").value() == Bytes{512ULL << 20U});
  CHECK(parse_size("64K").value() == Bytes{64ULL << 10U});
  CHECK(parse_size("1G").value() == Bytes{1ULL << 30U});
  CHECK(parse_size("2T").value() == Bytes{2ULL << 40U});
  CHECK(parse_size("512MiB").value() == parse_size("512M").value());
  CHECK(parse_size("512MB").value() == parse_size("512M").value());
  CHECK(parse_size("7B").value() == Bytes{7});
  CHECK(parse_size("16T").value() == Bytes{1ULL << 44U});
}

TEST_CASE("durations are read to the millisecond") {
  CHECK(parse_duration("500ms").value() == Millis(500));
  CHECK(parse_duration("30s").value() == Millis(30'000));
  CHECK(parse_duration("20m").value() == Millis(1'200'000));
  CHECK(parse_duration("2h").value() == Millis(7'200'000));
  CHECK(parse_duration("366d").value() == Millis(31'622'400'000));
}

TEST_CASE("a wrong size says what to write") {
  const auto error = [](const char* text) { return parse_size(text).error().text; };
  CHECK(error("") == "the size is empty; write e.g. \"512M\"");
  CHECK(error("512") ==
        "\"512\" has no unit; write e.g. \"512M\", units are K, M, G or T (powers of 1024)");
  CHECK(error("12Q") == "\"12Q\" has an unknown unit; units are K, M, G or T (powers of 1024)");
  CHECK(error("-1M") == "\"-1M\" is negative; write e.g. \"512M\"");
  CHECK(error("0M") == "\"0M\" is zero; a size is at least 1; write e.g. \"512M\"");
  CHECK(error("1.5G") ==
        "\"1.5G\" is not a whole number; take a smaller unit; write e.g. \"512M\"");
  CHECK(error("M") == "\"M\" does not start with a whole number; write e.g. \"512M\"");
  CHECK(error("1180591620717411303424B") ==
        "\"1180591620717411303424B\" is too large; the most is \"16T\"");
  CHECK(error("17T") == "\"17T\" is too large; the most is \"16T\"");
  CHECK(error("18446744073709551615T") ==
        "\"18446744073709551615T\" is too large; the most is \"16T\"");
}

TEST_CASE("a wrong duration or count says what to write") {
  CHECK(parse_duration("30").error().text ==
        "\"30\" has no unit; write e.g. \"30s\", units are ms, s, m, h or d");
  CHECK(parse_duration("30 s").error().text ==
        "\"30 s\" has an unknown unit; units are ms, s, m, h or d");
  CHECK(parse_duration("367d").error().text == "\"367d\" is too large; the most is \"366d\"");
  CHECK(parse_count("0").error().text == "0 is too small; the least is 1");
  CHECK(parse_count("-1").error().text == "\"-1\" is not a plain whole number; write e.g. 64");
  CHECK(parse_count("64M").error().text == "\"64M\" is not a plain whole number; write e.g. 64");
  CHECK(parse_count("1000000001").error().text ==
        "\"1000000001\" is too large; the most is 1000000000");
  CHECK(parse_count("64").value() == 64);
}

TEST_CASE("what is printed reads back") {
  for (const std::uint64_t v : {1ULL, 1023ULL, 1024ULL, 1536ULL, 1ULL << 20U, 3ULL << 30U}) {
    CHECK(parse_size(print_size(Bytes{v})).value() == Bytes{v});
    const Millis d(static_cast<Millis::rep>(v));
    CHECK(parse_duration(print_duration(d)).value() == d);
  }
  CHECK(print_size(Bytes{1536}) == "1536B");
  CHECK(print_size(Bytes{1536ULL << 10U}) == "1536K");
  CHECK(print_duration(Millis(90'000)) == "90s");
  CHECK(print_duration(Millis(1'500)) == "1500ms");
}

TEST_CASE("a hostile text is quoted short and plain") {
  const std::string text = "\x1b[2J\n" + std::string(1'000'000, 'x');
  CHECK(parse_size(text).error().text ==
        "\"?[2J?" + std::string(35, 'x') +
            "...\" does not start with a whole number; write e.g. \"512M\"");
}
