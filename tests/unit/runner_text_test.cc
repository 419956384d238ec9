#include <catch2/catch.hpp>

#include "runner/text.h"

using namespace runner;
using namespace std::string_literals;

TEST_CASE("well-formed UTF-8 passes and ill-formed bytes are found") {
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("Zürich € 𝄞"));
  CHECK(is_utf8(""));
  CHECK(is_utf8("\0"s));
  CHECK_FALSE(is_utf8("\xff"));
  CHECK_FALSE(is_utf8("\xc0\xaf"));          // overlong
  CHECK_FALSE(is_utf8("\xe0\x80\xaf"));      // overlong
  CHECK_FALSE(is_utf8("\xed\xa0\x80"));      // a surrogate
  CHECK_FALSE(is_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(is_utf8("\xe2\x82"));          // cut off
  CHECK(utf8_prefix("ab\xff"
                    "cd") == 2);
}

TEST_CASE("ill-formed bytes become U+FFFD one by one") {
  CHECK(to_utf8("a\xff\xfe"
                "b") ==
        "a\xEF\xBF\xBD\xEF\xBF\xBD"
        "b");
  CHECK(to_utf8("é") == "é");
}

TEST_CASE("a character cut by a cap is dropped, a whole one is kept") {
  CHECK(without_partial_character("a\xe2\x82") == "a");
  CHECK(without_partial_character("a\xe2\x82\xac") == "a\xe2\x82\xac");
  CHECK(without_partial_character("a\xf0\x9d\x84") == "a");
  CHECK(without_partial_character("abc") == "abc");
  CHECK(without_partial_character("") == "");
  CHECK(without_partial_character("\x80\x80\x80\x80") == "\x80\x80\x80\x80");
}

TEST_CASE("nothing that a terminal would act on stays in printable text") {
  CHECK(printable("out\nput") == "out\\nput");
  CHECK(printable("\x1b[31mred") == "\\x1b[31mred");
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("a\\b") == "a\\\\b");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // C1 control sequence introducer
  const std::string reversed = std::string(1, '\xe2') + "\x80\xae" + "fdp.exe";
  CHECK(printable(reversed) == "\\u202efdp.exe");  // right-to-left override
  CHECK(printable("\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\xbf\xbe") == "\\ufffe\\uffff\\u1fffe");
  CHECK(printable("\xef\xbf\xbd") == "\xef\xbf\xbd");  // U+FFFD is one
  CHECK(printable("Zürich") == "Zürich");
  CHECK(printable("\0"s) == "\\x00");
}

TEST_CASE("base64 as in RFC 4648 section 10") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe") == "//4=");
}

TEST_CASE("sizes and durations read as a person writes them") {
  CHECK(size_text({17}) == "17 bytes");
  CHECK(size_text(jail::mib(512)) == "512M");
  CHECK(size_text(jail::Bytes{39'007'027}) == "37.2M");
  CHECK(size_text(jail::Bytes{8ULL << 40U}) == "8T");
  CHECK(size_text(jail::Bytes{~0ULL}) == "16384P");
  CHECK(duration_text(jail::Millis{0}) == "0ms");
  CHECK(duration_text(jail::Millis{250}) == "250ms");
  CHECK(duration_text(jail::Millis{1500}) == "1.5s");
  CHECK(duration_text(jail::Millis{10'000}) == "10s");
  CHECK(duration_text(jail::Millis{20 * 60'000}) == "20m");
  CHECK(duration_text(jail::Millis{2 * 3'600'000}) == "2h");
}
