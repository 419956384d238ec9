// Files in and out, and what becomes of their names.
#include <catch2/catch.hpp>

#include "runner/text.h"
#include "tests/http/server_under_test.h"

using namespace http_test;

namespace {

Response put_form(Client& client, const std::string& id, const std::string& disposition,
                  const std::string& content) {
  const std::string body = "--x y\r\nContent-Disposition: " + disposition +
                           "\r\nContent-Type: text/csv\r\n\r\n" + content + "\r\n--x y--\r\n";
  return client.call("POST", "/v1/containers/" + id + "/files", body,
                     "Content-Type: multipart/form-data; boundary=\"x y\"\r\n");
}

std::string path_of(const Response& response) {
  REQUIRE(response.status == 200);
  CHECK(mismatch(response.json(), "File").empty());
  return std::string(response.json().at("path").as_string());
}

}  // namespace

TEST_CASE("a form's file comes back byte for byte") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  std::string content;
  for (int i = 0; i < 5000; ++i) content += static_cast<char>(i % 256);
  content += "\r\n--x \r\n--x";
  const Response made =
      put_form(client, id, "form-data; name=\"file\"; filename=\"a.bin\"", content);
  CHECK(path_of(made) == "/mnt/data/a.bin");
  CHECK(made.json().at("bytes") == content.size());
  const std::string file =
      "/v1/containers/" + id + "/files/" + std::string(made.json().at("id").as_string());
  CHECK(client.call("GET", file).body == made.body);
  const Response fetched = client.call("GET", file + "/content");
  CHECK(fetched.body == content);
  CHECK(fetched.headers.at("content-type") == "application/octet-stream");
  CHECK(fetched.headers.at("content-disposition") == "attachment; filename=\"a.bin\"");
  CHECK(mismatch(client.call("GET", "/v1/containers/" + id + "/files").json(), "FileList").empty());
  const Response gone = client.call("DELETE", file);
  CHECK(mismatch(gone.json(), "Deleted").empty());
  CHECK(gone.json().at("object") == "container.file.deleted");
  CHECK(client.call("GET", file).status == 404);
  CHECK(client.call("GET", file + "/content").status == 404);
  CHECK(client.call("DELETE", file).status == 404);
}

TEST_CASE("unusual names survive, in forms, queries and headers") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  const std::string files = "/v1/containers/" + id + "/files";
  const auto form = [&](const std::string& parameter) {
    return path_of(put_form(client, id, "form-data; name=\"file\"; " + parameter, "x"));
  };
  CHECK(form("filename=\"two words.csv\"") == "/mnt/data/two words.csv");
  CHECK(form("filename=\"\xe5\x9b\xb3\xe8\xa1\xa8.png\"") ==
        "/mnt/data/\xe5\x9b\xb3\xe8\xa1\xa8.png");
  CHECK(form("filename=\"a%22b%0D%0Ac%41.txt\"") == "/mnt/data/a\"b\r\nc%41.txt");
  CHECK(form(R"(filename="a\"b\\c\d")") == R"(/mnt/data/a"b\c\d)");
  CHECK(form("filename=\"x\"; filename*=UTF-8''na%C3%AFve%20%25.txt") ==
        "/mnt/data/na\xc3\xafve %.txt");
  CHECK(form("filename=\"/etc/passwd\"") == "/mnt/data/passwd");
  CHECK(form("filename=\"../../x\"") == "/mnt/data/x");

  const auto raw = [&](const std::string& query, const std::string& headers) {
    return path_of(client.call("POST", files + query, "abc", headers));
  };
  CHECK(raw("?name=a+b%2B%E5%9B%B3.txt", "") == "/mnt/data/a b+\xe5\x9b\xb3.txt");
  CHECK(raw("?name=line%0Aend", "Content-Type: text/plain\r\n") == "/mnt/data/line\nend");
  CHECK(raw("", "X-Filename: caf%C3%A9.txt\r\n") == "/mnt/data/caf\xc3\xa9.txt");
  CHECK(raw("", "Content-Disposition: attachment; filename=\"d.txt\"\r\n") == "/mnt/data/d.txt");
  CHECK(raw("?name=a.json", "Content-Type: application/json\r\n") == "/mnt/data/a.json");
  const Response bytes = client.call("POST", files + "?name=%FF%FE", "abc", "");
  CHECK(bytes.json().at("path") == "/mnt/data/\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(bytes.json().at("path_base64") == "L21udC9kYXRhL//+");
}

TEST_CASE("a name in a download is safe in a header and exact by filename*") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  const Response made = client.call(
      "POST", "/v1/containers/" + id + "/files?name=%22%0D%0AX-Evil%3A%201%E5%9B%B3.html", "<b>",
      "");
  const Response fetched =
      client.call("GET", "/v1/containers/" + id + "/files/" +
                             std::string(made.json().at("id").as_string()) + "/content");
  CHECK(fetched.headers.at("content-disposition") ==
        "attachment; filename=\"___X-Evil: 1_.html\"; "
        "filename*=UTF-8''%22%0D%0AX-Evil%3A%201%E5%9B%B3.html");
  CHECK_FALSE(fetched.headers.contains("x-evil"));
  CHECK(fetched.headers.at("content-type") == "application/octet-stream");
}

TEST_CASE("a file that is there already is copied by its id") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  const std::string other = make_container(client);
  const Response made = client.call("POST", "/v1/containers/" + id + "/files?name=a", "abc", "");
  const std::string file_id(made.json().at("id").as_string());
  const std::string wish = R"({"file_id":")" + file_id + R"("})";
  CHECK(path_of(client.call("POST", "/v1/containers/" + other + "/files", wish)) == "/mnt/data/a");
  // As OpenAI's client says it.
  CHECK(path_of(put_form(client, other, "form-data; name=\"file_id\"", file_id)) == "/mnt/data/a");
  CHECK(put_form(client, other, "form-data; name=\"file_id\"", "cfile_x").status == 404);
  CHECK(put_form(client, other, "form-data; name=\"other\"", "x").status == 400);
  const Response two = put_form(
      client, other, "form-data; name=\"file_id\"",
      file_id + "\r\n--x y\r\nContent-Disposition: form-data; name=\"file_id\"\r\n\r\n" + file_id);
  CHECK(two.status == 400);
  CHECK(two.json().at("error").at("message") ==
        "the form has more than one field named file or file_id; send each by itself");
  const Response unknown =
      client.call("POST", "/v1/containers/" + other + "/files", R"({"file_id":"cfile_x"})");
  CHECK(unknown.status == 404);
  CHECK(unknown.json().at("error").at("param") == "file_id");
  CHECK(client.call("POST", "/v1/containers/" + other + "/files", "{}").status == 400);
}

TEST_CASE("too large a file is refused before it is read, with the limit") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  client.send("POST /v1/containers/" + id +
              "/files?name=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2097153\r\n\r\n");
  const Response declared = client.read_response();
  CHECK(declared.status == 413);
  CHECK(declared.message().find("2M") != std::string::npos);
  CHECK(declared.headers.at("connection") == "close");

  Client chunked = server.client();
  chunked.send("POST /v1/containers/" + id +
               "/files?name=a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 48; ++i) chunked.send("10000\r\n" + std::string(65536, 'x') + "\r\n");
  const Response counted = chunked.read_response();
  CHECK(counted.status == 413);
  CHECK(counted.message().find("2M") != std::string::npos);

  Client form = server.client();
  const Response in_form =
      put_form(form, id, "form-data; name=\"file\"; filename=\"a\"", std::string(2097153, 'x'));
  CHECK(in_form.status == 413);
}

TEST_CASE("the largest file that is allowed is, and Expect: 100-continue is answered") {
  ServerUnderTest server;
  Client client = server.client();
  const std::string id = make_container(client);
  client.send("POST /v1/containers/" + id +
              "/files?name=a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
              "Content-Length: 2097152\r\n\r\n");
  CHECK(client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(std::string(2097152, 'x'));
  CHECK(client.read_response().json().at("bytes") == 2097152);
}

TEST_CASE("broken forms are refused, and nothing is stored") {
  ServerUnderTest server;
  Client setup = server.client();
  const std::string id = make_container(setup);
  const std::string files = "/v1/containers/" + id + "/files";
  const auto status = [&](const std::string& type, const std::string& body) {
    Client client = server.client();
    return client.call("POST", files, body, "Content-Type: " + type + "\r\n").status;
  };
  const std::string form = "multipart/form-data; boundary=b";
  const std::string part = "Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx";
  CHECK(status("multipart/form-data", "--b--") == 400);
  CHECK(status("multipart/mixed; boundary=b", "--b\r\n" + part + "\r\n--b--") == 400);
  CHECK(status(form, "--b\r\n" + part) == 400);                // no end
  CHECK(status(form, "--b\r\n" + part + "\r\n--c--") == 400);  // another's end
  CHECK(status(form, "--b\r\nno header\r\n\r\nx\r\n--b--") == 400);
  CHECK(status(form, "--b\r\n\r\nx\r\n--b--") == 400);
  CHECK(status(form, "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n--b--") == 400);
  CHECK(status(form, "--b\n" + part + "\n--b--") == 400);  // bare line feeds
  CHECK(status(form, "--b\r\n" + std::string(9000, 'h') + ": x\r\n\r\n\r\n--b--") == 400);
  CHECK(status(form, std::string(20000, 'p')) == 400);
  CHECK(status("application/octet-stream", "x") == 400);  // no name
  CHECK(setup.call("GET", files).json().at("data").as_array().empty());
}
