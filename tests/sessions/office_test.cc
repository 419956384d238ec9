// Office and PDF files that code writes, over HTTP: whole, of the right types, and fit to be read
// by the code of another container.
#include <catch2/catch.hpp>

#include "tests/sessions/served.h"
#include "tests/sessions/sessions_under_test.h"
#include "tests/support/require.h"

using namespace sessions_test;

namespace {

constexpr const char* kWrites =
    "import docx, openpyxl, hashlib\n"
    "from reportlab.pdfgen import canvas\n"
    "book = openpyxl.Workbook()\n"
    "for row in range(1, 2001):\n"
    "  book.active.append([row, row * row, f'row {row}'])\n"
    "book.save('table.xlsx')\n"
    "paper = docx.Document()\n"
    "paper.add_heading('Energy')\n"
    "paper.add_paragraph('1.5 kWh: \u6587')\n"
    "paper.save('paper.docx')\n"
    "page = canvas.Canvas('page.pdf', pageCompression=0)\n"
    "page.drawString(72, 720, 'seventy-two points')\n"
    "page.save()\n"
    "for name in ('page.pdf', 'paper.docx', 'table.xlsx'):\n"
    "  print(hashlib.sha256(open(name, 'rb').read()).hexdigest())\n";

constexpr const char* kReads =
    "import docx, openpyxl\n"
    "sheet = openpyxl.load_workbook('table.xlsx').active\n"
    "paper = docx.Document('paper.docx')\n"
    "print(sheet.max_row, sheet['B2000'].value, sheet['C7'].value)\n"
    "print([p.text for p in paper.paragraphs] == ['Energy', '1.5 kWh: \u6587'])\n";

const std::map<std::string, std::string> kTypes = {
    {"page.pdf", "application/pdf"},
    {"paper.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"table.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}};

}  // namespace

TEST_CASE("Office and PDF files come back whole") {
  require_jails();
  support::require_python("openpyxl", "python3-openpyxl");
  support::require_python("docx", "python3-docx");
  support::require_python("reportlab", "python3-reportlab");
  Served served;
  Client client = served.client();
  const std::string id = make(client);
  const std::string base = "/v1/containers/" + id;
  const Response done = post(client, base + "/execute", {{"code", kWrites}});
  REQUIRE(done.status == 200);
  INFO(done.body);
  const Json document = done.json();
  CHECK(document.at("outcome") == "ok");
  const std::string digests = text(document.at("stdout"));
  REQUIRE(document.at("files").as_array().size() == kTypes.size());
  const std::string other = make(client);
  std::size_t place = 0;
  for (const Json& file : document.at("files").as_array()) {
    const std::string name = text(file.at("path")).substr(std::string("/mnt/data/").size());
    INFO(name);
    REQUIRE(kTypes.contains(name));
    CHECK(text(file.at("sha256")) == digests.substr(65 * place++, 64));
    const Response content =
        client.call("GET", base + "/files/" + text(file.at("id")) + "/content");
    REQUIRE(content.status == 200);
    CHECK(content.headers.at("content-type") == kTypes.at(name));
    CHECK(content.headers.at("content-disposition") == "attachment; filename=\"" + name + "\"");
    CHECK(static_cast<std::int64_t>(content.body.size()) == file.at("bytes"));
    if (name == "page.pdf") {
      CHECK(content.body.starts_with("%PDF-1."));
      CHECK(content.body.ends_with("%%EOF\n"));
      CHECK(contains(content.body, "(seventy-two points)"));
    } else {
      CHECK(content.body.starts_with("PK\x03\x04"));
    }
    const Response up = client.call("POST", "/v1/containers/" + other + "/files?name=" + name,
                                    content.body, "Content-Type: application/octet-stream\r\n");
    REQUIRE(up.status == 200);
    CHECK(up.json().at("sha256") == file.at("sha256"));
  }
  const Response read = post(client, "/v1/containers/" + other + "/execute", {{"code", kReads}});
  INFO(read.body);
  CHECK(text(read.json().at("stdout")) == "2000 4000000 row 7\nTrue\n");
}
