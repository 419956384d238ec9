#include <catch2/catch.hpp>

#include "runner/http/file_names.h"
#include "runner/http/target.h"

using namespace runner::http;

TEST_CASE("a target is taken apart and never mended") {
  const auto target = parse_target("/v1/a%20b/c?x=1&y=%26+z&&w");
  REQUIRE(target);
  CHECK(target->segments == std::vector<std::string>{"v1", "a b", "c"});
  REQUIRE(target->query.size() == 3);
  CHECK(target->query[1].value == "& z");
  CHECK(target->query[2].name == "w");
  CHECK(parse_target("/")->segments.empty());
  CHECK(parse_target("http://h:1/x")->authority == "h:1");
  CHECK(parse_target("http://h")->segments.empty());
  for (const char* broken : {"", "*", "x", "//", "/a/", "/./a", "/%2e%2e/a", "/%", "/%4", "/%gg",
                             "/a#b", "/?x=%", "http://", "ftp://h/x", "/a%00"}) {
    CAPTURE(broken);
    CHECK_FALSE(parse_target(broken));
  }
}

TEST_CASE("header values with parameters") {
  const auto value = parse_header_value("Form-Data; NAME=file ;filename=\"a;b\"; ");
  REQUIRE(value);
  CHECK(value->value == "form-data");
  CHECK(value->parameters.at("name") == "file");
  CHECK(value->parameters.at("filename") == "a;b");
  for (const char* broken :
       {"", ";", "a; b", "a; b=", "a; =c", "a; b=\"c", "a b", "a; b=c; B=d", "a; b=\"c\"d",
        "a; filename*=latin-1''x", "a; filename*=UTF-8''%", "a; filename*=x"}) {
    CAPTURE(broken);
    CHECK_FALSE(parse_header_value(broken));
  }
}

TEST_CASE("types by the name's ending, and none that a browser would run") {
  CHECK(content_type_of("a.csv") == "text/csv");
  CHECK(content_type_of("a.b.PNG") == "image/png");
  CHECK(content_type_of("report.pdf") == "application/pdf");
  CHECK(content_type_of("t.xlsx") ==
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet");
  for (const char* name : {"", "csv", "a.", "a.html", "a.HTM", "a.svg", "a.xhtml", "a.xml", "a.js",
                           "a.mjs", "a.wasm", "a.csv.exe", "a.csv\n", "a.csv "}) {
    CAPTURE(name);
    CHECK(content_type_of(name) == "application/octet-stream");
  }
}

TEST_CASE("Content-Disposition, written") {
  CHECK(attachment("a.txt") == "attachment; filename=\"a.txt\"");
  CHECK(attachment("a b\".txt") ==
        "attachment; filename=\"a b_.txt\"; filename*=UTF-8''a%20b%22.txt");
  CHECK(attachment("\xe5\x9b\xb3") == "attachment; filename=\"_\"; filename*=UTF-8''%E5%9B%B3");
  CHECK(attachment("\xff") == "attachment; filename=\"_\"; filename*=UTF-8''%EF%BF%BD");
  CHECK(attachment("100%.csv") == "attachment; filename=\"100_.csv\"; filename*=UTF-8''100%25.csv");
}
