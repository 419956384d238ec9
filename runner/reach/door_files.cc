// Names that come in and files that go out.
#include <array>
#include <chrono>

#include "runner/reach/door_probe.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

namespace json = boost::json;

std::string files_of(const std::string& container) {
  return "/v1/containers/" + container + "/files";
}

// Does anything of the host stand in it? The jail's own passwd gives root no home.
bool tells_of_host(const Door& door, const Reply& reply) {
  return reply.all.find(door.canary()) != std::string::npos ||
         reply.all.find(":/root:") != std::string::npos;
}

// A name that must end up in the workdir, or nowhere.
Observation upload(Door& door, const Reply& reply) {
  (void)door;
  if (reply.status >= 400) return blocked("HTTP " + std::to_string(reply.status));
  const std::string path = text_of(reply, "path");
  if (path.empty()) return unclear("no path in the reply");
  const bool inside = path.starts_with("/mnt/data/") && path.find("/../") == std::string::npos &&
                      !path.ends_with("/..");
  return inside ? blocked("put at " + path) : reached("put at " + path);
}

Observation upload_named(Door& door, const std::string& encoded) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  return upload(door, door.ask({.method = "POST",
                                .target = files_of(id) + "?name=" + encoded,
                                .body = "x",
                                .type = "text/plain"}));
}

Observation upload_dots(Door& door) {
  return upload_named(door, "..%2F..%2F..%2Ftmp%2Fsandglass-door-up");
}
Observation upload_absolute(Door& door) { return upload_named(door, "%2Fetc%2Fcron.d%2Fx"); }
Observation upload_dot_only(Door& door) { return upload_named(door, "%2E%2E"); }
Observation upload_backslash(Door& door) { return upload_named(door, "..%5C..%5Cx"); }

Observation upload_nul(Door& door) { return upload_named(door, "a.txt%00%2F..%2Fx"); }

Observation form_dots(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  return upload(door, door.ask({.method = "POST",
                                .target = files_of(id),
                                .body = "--b\r\nContent-Disposition: form-data; name=\"file\"; "
                                        "filename=\"../../tmp/x\"\r\n\r\nx\r\n--b--\r\n",
                                .type = "multipart/form-data; boundary=b"}));
}

// Every content that the container offers, and the list itself.
Observation fetch_all(Door& door, const std::string& id, const std::string& what) {
  const auto start = std::chrono::steady_clock::now();
  const Reply list = door.ask({.target = files_of(id)});
  if (list.status == 0) return reached("listing " + what + " hangs");
  if (tells_of_host(door, list)) return reached(what + ": the list tells of the host");
  boost::system::error_code error;
  const auto document = json::parse(list.body, error);
  const auto* data = error ? nullptr : document.as_object().if_contains("data");
  if (data == nullptr || !data->is_array()) return unclear("no list of files");
  std::string offered;
  bool honest = false;
  for (const json::value& file : data->get_array()) {
    const std::string file_id(file.at("id").as_string());
    const Reply content = door.ask({.target = files_of(id) + "/" + file_id + "/content"});
    if (content.status == 0) return reached("fetching " + what + " hangs");
    if (content.body == "honest") {
      honest = true;
      continue;
    }
    if (tells_of_host(door, content)) return reached(what + ": a file of the host was fetched");
    offered += (offered.empty() ? "" : ", ") + std::string(file.at("path").as_string());
  }
  if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10)) {
    return reached(what + ": it took longer than ten seconds");
  }
  // Where a plain file beside it is not offered either, nothing is shown.
  if (!honest) return unclear("the plain file beside it was not offered");
  return blocked(offered.empty() ? "not offered" : "offered: " + offered + ", nothing of the host");
}

// Runs `code`, which plants something and says "planted", or why it cannot.
Observation plant(Door& door, const std::string& code, const std::string& what) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply = door.run(id, "open('/mnt/data/plain.txt', 'w').write('honest')\n" + code);
  if (!reply.is_success()) return unclear("it did not run: HTTP " + std::to_string(reply.status));
  if (tells_of_host(door, reply)) return reached("the reply itself tells of the host");
  if (text_of(reply, "stdout").find("planted") == std::string::npos) {
    return blocked("inside already: " + text_of(reply, "stdout"));
  }
  return fetch_all(door, id, what);
}

Observation symlink_file(Door& door) {
  return plant(door,
               "import os\nfor i, t in enumerate(['" + door.canary_path() +
                   "', '/etc/passwd', '/proc/self/environ', '../../etc/passwd']):\n"
                   "  os.symlink(t, f'/mnt/data/link{i}.txt')\nprint('planted')",
               "a link to a file");
}

Observation symlink_folder(Door& door) {
  return plant(door,
               "import os\nos.symlink('/', '/mnt/data/all')\nos.symlink('/tmp', "
               "'/mnt/data/tmp')\nprint('planted')",
               "a link to a folder");
}

Observation symlink_swap(Door& door) {
  // A file that is offered, and becomes a link before it is fetched.
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  (void)door.run(id, "open('/mnt/data/a.txt','w').write('mine')");
  const Reply list = door.ask({.target = files_of(id)});
  const std::size_t at = list.body.find("cfile_");
  if (at == std::string::npos) return unclear("the file was not listed");
  const std::string file = list.body.substr(at, list.body.find('"', at) - at);
  (void)door.run(id, "import os\nos.remove('/mnt/data/a.txt')\nos.symlink('" + door.canary_path() +
                         "', '/mnt/data/a.txt')");
  const Reply content = door.ask({.target = files_of(id) + "/" + file + "/content"});
  if (tells_of_host(door, content)) return reached("the host's file was fetched");
  if (content.status == 0) return unclear("no reply");
  return blocked("HTTP " + std::to_string(content.status));
}

Observation fifo(Door& door) {
  return plant(door, "import os\nos.mkfifo('/mnt/data/pipe.csv')\nprint('planted')", "a FIFO");
}

Observation device(Door& door) {
  return plant(door,
               "import os, stat\ntry:\n  os.mknod('/mnt/data/zero.bin', 0o666 | stat.S_IFCHR, "
               "os.makedev(1, 5))\n  print('planted')\nexcept OSError as e:\n  print(e)",
               "a device");
}

Observation socket_file(Door& door) {
  return plant(door,
               "import socket\ntry:\n  s = socket.socket(socket.AF_UNIX)\n"
               "  s.bind('/mnt/data/s.sock')\n  print('planted')\nexcept OSError as e:\n  print(e)",
               "a socket");
}

Observation huge_sparse(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  (void)door.run(id,
                 "import os\nfd = os.open('/mnt/data/big', os.O_CREAT | os.O_RDWR)\n"
                 "for n in (1 << 50, 400 << 20):\n  try:\n    os.ftruncate(fd, n); break\n"
                 "  except OSError: pass");
  const Reply list = door.ask({.target = files_of(id)});
  const std::size_t at = list.body.find("cfile_");
  if (at == std::string::npos) return blocked("not offered");
  const std::string file = list.body.substr(at, list.body.find('"', at) - at);
  const Reply content = door.ask({.target = files_of(id) + "/" + file + "/content"});
  constexpr std::size_t kLarge = std::size_t{32} << 20U;
  if (content.all.size() > kLarge) return reached(std::to_string(content.all.size()) + " bytes");
  return blocked("HTTP " + std::to_string(content.status));
}

Observation odd_names(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  (void)door.run(id,
                 "import os\nfor n in (b'a\\nb', b'\\x1b[2J', b'\\xff\\xfe', b'\"}],\"x\":[', "
                 "b'-rf', '\\u202e.txt'.encode()):\n"
                 "  open(b'/mnt/data/' + n, 'w').write('x')");
  const Reply list = door.ask({.target = files_of(id)});
  if (!list.is_success()) return unclear("no list: HTTP " + std::to_string(list.status));
  boost::system::error_code error;
  (void)json::parse(list.body, error);
  if (error) return reached("the list is no JSON");
  for (const char c : list.body) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) {
      return reached("a raw control character or byte in the list");
    }
  }
  return blocked("escaped in the list");
}

Observation header_by_name(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply made = door.ask({.method = "POST",
                               .target = files_of(id) + "?name=a%22%0D%0AX-Evil%3A%201.html",
                               .body = "<script>1</script>",
                               .type = "text/plain"});
  if (made.status >= 400) return blocked("HTTP " + std::to_string(made.status));
  const Reply content = door.ask({.target = files_of(id) + "/" + text_of(made, "id") + "/content"});
  if (content.headers.contains("x-evil")) return reached("a header was injected");
  return content.is_success() ? blocked("the name was escaped") : by_status(content);
}

Observation page_by_file(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply made = door.ask({.method = "POST",
                               .target = files_of(id) + "?name=a.html",
                               .body = "<script>1</script>",
                               .type = "text/html"});
  Reply content = door.ask({.target = files_of(id) + "/" + text_of(made, "id") + "/content"});
  if (!content.is_success()) return unclear("HTTP " + std::to_string(content.status));
  const bool safe = content.headers["content-type"] == "application/octet-stream" &&
                    content.headers["x-content-type-options"] == "nosniff" &&
                    content.headers["content-disposition"].starts_with("attachment");
  return safe ? blocked("octet-stream, nosniff, attachment")
              : reached(content.headers["content-type"]);
}

Observation path_in_target(Door& door) {
  const std::string id = door.container();
  for (const std::string& target :
       {std::string("/../../../../etc/passwd"), std::string("/%2e%2e/%2e%2e/etc/passwd"),
        files_of(id) + "/..%2F..%2F..%2Fetc%2Fpasswd/content",
        files_of(id) + "/../../../../etc/passwd", std::string("/v1/containers/..%2F..%2Fetc/files"),
        std::string("//etc/passwd"), std::string("file:///etc/passwd")}) {
    const Reply reply = door.ask({.target = target});
    if (reply.is_success() || tells_of_host(door, reply)) return reached(target);
  }
  return blocked("seven forms refused");
}

Observation policy_by_path(Door& door) {
  for (const char* name : {"/tmp/x.toml", "../tight", "./loose.toml", "nosuchpolicy"}) {
    const Reply reply =
        door.post("/v1/containers", std::string(R"({"name":"p","policy":")") + name + "\"}");
    if (reply.is_success()) return reached(name);
    if (reply.status < 400) return unclear("no HTTP reply");
  }
  return blocked("four names refused");
}

Observation looser_limits(Door& door) {
  for (const char* more : {R"("memory_limit":"1t")", R"("limits":{"memory":"1T"})",
                           R"("ro_bind":["/etc/shadow"])", R"("env":{"LD_PRELOAD":"/x"})",
                           R"("network_policy":{"type":"allowlist","allowed_domains":["a.b"]})"}) {
    const Reply reply = door.post(
        "/v1/execute", std::string(R"j({"language":"python","code":"print(1)",)j") + more + "}");
    if (reply.is_success()) return reached(more);
    if (reply.status < 400) return unclear("no HTTP reply");
  }
  return blocked("five wishes refused");
}

constexpr std::array kProbes{
    door("d01", "upload-name-with-dots", "uploads a file named ../../../tmp/x",
         "CVE-2019-1002101 (kubectl cp); zip-slip class", upload_dots),
    door("d02", "upload-absolute-name", "uploads a file named /etc/cron.d/x",
         "path traversal, CWE-22", upload_absolute),
    door("d03", "upload-dot-dot", "uploads a file named just \"..\"", "path traversal, CWE-22",
         upload_dot_only),
    door("d04", "upload-backslashes", "uploads a file named ..\\..\\x", "path traversal, CWE-22",
         upload_backslash),
    door("d05", "upload-name-with-nul", "uploads a file whose name goes on behind a zero byte",
         "null byte injection, CWE-158", upload_nul),
    door("d06", "form-name-with-dots", "names a form's file ../../tmp/x", "path traversal, CWE-22",
         form_dots),
    door("d07", "path-in-target", "asks for /etc/passwd by dots in the request's target",
         "path traversal, CWE-22", path_in_target),
    door("d08", "symlink-fetched", "plants links to files of the host and fetches them",
         "CVE-2019-1002101 (kubectl cp)", symlink_file),
    door("d09", "symlinked-folder-fetched", "plants links to / and /tmp and lists them",
         "CVE-2019-1002101 (kubectl cp)", symlink_folder),
    door("d10", "symlink-swapped-in", "swaps an offered file for a link before it is fetched",
         "TOCTOU, CWE-367; CVE-2021-30465 (runc)", symlink_swap),
    door("d11", "fifo-as-output", "leaves a FIFO, which hangs who opens it",
         "peers: results fetched by a blocking open", fifo),
    door("d12", "device-as-output", "leaves a device node that never ends",
         "SandboxEscapeBench: device access", device),
    door("d13", "socket-as-output", "leaves a socket among its files",
         "peers: results fetched by a blocking open", socket_file),
    door("d14", "sparse-file-fetched", "leaves a sparse file far larger than any limit",
         "snekbox 16b1a13 (sparse files)", huge_sparse),
    door("d15", "odd-file-names", "leaves files whose names break lines, JSON and terminals",
         "log injection, CWE-117", odd_names),
    door("d16", "header-by-file-name", "breaks out of a header by a file's name",
         "response splitting, CWE-113", header_by_name),
    door("d17", "page-by-file", "stores a page with a script and asks for it as one",
         "stored XSS, CWE-79", page_by_file),
    door("d18", "policy-by-path", "asks for a policy by a path of the host",
         "path traversal, CWE-22", policy_by_path),
    door("d19", "looser-limits", "asks for more memory, a bind, a variable, a network",
         "mass assignment, CWE-915", looser_limits),
};

}  // namespace

std::span<const DoorProbe> door_files() { return kProbes; }

}  // namespace runner::reach
