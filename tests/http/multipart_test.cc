#include "runner/http/multipart.h"

#include <catch2/catch.hpp>

using runner::http::Multipart;

namespace {

const std::string kBody =
    "preamble\r\n--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n\r\n--b \t\r\n"
    "content-disposition:form-data; name=file; filename=\"x\"\r\nX: y\r\n\r\n"
    "one\r\n--\r\n--c\r\ntwo\r\n\r\n--b--\r\nepilogue --b";

}  // namespace

TEST_CASE("a form cut at every place is read the same") {
  for (std::size_t step = 1; step <= kBody.size(); ++step) {
    Multipart form("b");
    for (std::size_t i = 0; i < kBody.size(); i += step) REQUIRE(form.feed(kBody.substr(i, step)));
    REQUIRE(form.finish());
    REQUIRE(form.parts().size() == 2);
    CHECK(form.parts()[0].name == "note");
    CHECK(form.parts()[0].content.empty());
    CHECK_FALSE(form.parts()[0].file_name);
    CHECK(form.parts()[1].file_name == "x");
    CHECK(form.parts()[1].content == "one\r\n--\r\n--c\r\ntwo\r\n");
  }
}

TEST_CASE("a form that ends early at any place is refused") {
  const std::size_t end = kBody.find("--b--") + 5;
  for (std::size_t size = 0; size < end; ++size) {
    Multipart form("b");
    form.feed(kBody.substr(0, size));
    CHECK_FALSE(form.finish());
    CHECK_FALSE(form.error().empty());
  }
}

TEST_CASE("too many parts are refused") {
  std::string body;
  for (int i = 0; i < 17; ++i) body += "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
  Multipart form("b");
  CHECK_FALSE(form.feed(body + "--b--"));
}

TEST_CASE("boundaries") {
  CHECK(Multipart::boundary_of("multipart/form-data; boundary=abc") == "abc");
  CHECK(Multipart::boundary_of("Multipart/Form-Data; charset=x; boundary=\"a b\"") == "a b");
  CHECK_FALSE(Multipart::boundary_of("multipart/form-data"));
  CHECK_FALSE(Multipart::boundary_of("multipart/form-data; boundary=\"\""));
  CHECK_FALSE(Multipart::boundary_of("multipart/form-data; boundary=\"a \""));
  CHECK_FALSE(Multipart::boundary_of("multipart/form-data; boundary=" + std::string(71, 'a')));
  CHECK_FALSE(Multipart::boundary_of("multipart/mixed; boundary=a"));
}
