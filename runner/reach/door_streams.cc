// What code writes to look like the supervisor's own word: frames on its channel, events in its
// output. And output without end.
#include <array>

#include "runner/reach/door_probe.h"

namespace runner::reach {
namespace {

// The driver's channel is a socket among its descriptors; what is written there is a frame to us.
constexpr const char* kFrames =
    "import os, struct, json, stat\n"
    "def frame(text, size=None):\n"
    "  b = text.encode()\n"
    "  for fd in range(3, 64):\n"
    "    try:\n"
    "      if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
    "        os.write(fd, struct.pack('<I', len(b) if size is None else size) + b)\n"
    "    except OSError: pass\n";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Code that ends by a signal or an exit of its own, and claims to have ended well.
Observation forged_end(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply =
      door.run(id, std::string(kFrames) +
                       "for i in range(4):\n"
                       "  frame(json.dumps({'ev': 'end', 'id': i, 'status': 'ok', 'code': 0}))\n"
                       "os.kill(os.getpid(), 9)");
  const std::string outcome = text_of(reply, "outcome");
  if (outcome.empty()) return unclear("no outcome: HTTP " + std::to_string(reply.status));
  // The frame may have been read before the kill: then what follows tells the truth.
  if (outcome == "ok" || outcome == "raised") {
    const Reply next = door.run(id, "print('alive')");
    const bool kept = next.body.find("\"execution_count\":2") != std::string::npos;
    return kept ? reached("a killed interpreter counts as " + outcome + ", and as alive")
                : blocked("ended early; the next execution tells that the state is gone");
  }
  return blocked("outcome " + outcome);
}

Observation forged_usage(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply = door.run(
      id, std::string(kFrames) +
              "frame(json.dumps({'ev': 'outcome', 'outcome': 'ok', 'usage': {'cpu_ms': 424242}}))\n"
              "frame(json.dumps({'usage': {'wall_ms': 424242}, 'exit_code': 77}))\n");
  if (reply.status == 0) return unclear("no reply");
  if (reply.body.find("424242") != std::string::npos) return reached("usage was forged");
  return blocked("usage is measured outside; outcome " + text_of(reply, "outcome"));
}

Observation huge_frame(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply = door.run(id, std::string(kFrames) + "frame('{', 0xffffffff)");
  if (reply.status == 0) return reached("the server waits for four gigabytes");
  return blocked("outcome " + text_of(reply, "outcome"));
}

Observation broken_frames(Door& door) {
  for (const char* text : {"'not json'", "'[' * 100000", "'{\"ev\":\"result\",\"id\":-1}'",
                           "'{\"ev\":\"error\",\"id\":1e99}'", "'{\"ev\":[]}'"}) {
    const std::string id = door.container();
    if (id.empty()) return unclear("no container could be made");
    const Reply reply = door.run(id, std::string(kFrames) + "frame(" + text + ")");
    if (reply.status == 0 || reply.status >= 500) {
      return reached("HTTP " + std::to_string(reply.status) + " after " + text);
    }
  }
  return blocked("five frames taken as output of the code");
}

Reply stream(Door& door, const std::string& id, const std::string& code, const char* accept) {
  return door.ask({.method = "POST",
                   .target = "/v1/containers/" + id + "/execute",
                   .body = R"({"language":"python","timeout_s":8,"code":)" + quoted(code) + "}",
                   .headers = std::string("Accept: ") + accept + "\r\n"});
}

// Lines that look like events stay text in events.
Observation forged_lines(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply = stream(
      door, id,
      "print('\\n{\"type\":\"outcome\",\"seq\":99,\"outcome\":\"ok\"}\\n')\nraise ValueError",
      "application/x-ndjson");
  if (!reply.is_success()) return unclear("HTTP " + std::to_string(reply.status));
  const std::size_t outcomes = count_of("\n" + reply.body, "\n{\"type\":\"outcome\"");
  return outcomes == 1 ? blocked("one outcome")
                       : reached(std::to_string(outcomes) + " outcomes in the stream");
}

Observation forged_events(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply =
      stream(door, id,
             "print('\\n\\nevent: outcome\\ndata: {\"outcome\":\"ok\"}\\n\\n')\nraise ValueError",
             "text/event-stream");
  if (!reply.is_success()) return unclear("HTTP " + std::to_string(reply.status));
  for (const char* line : {"\nevent: outcome\ndata: {\"outcome\":\"ok\"}",
                           "\n\nevent: outcome\ndata: {\"outcome\":\"ok\"}"}) {
    if (reply.body.find(line) != std::string::npos) return reached("an event was forged");
  }
  return blocked("its text stays within events");
}

Observation raw_bytes(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply = door.run(
      id, "import os\nos.write(1, b'\\x1b]0;x\\x07\\x00\\xff\\xfe\\x1b[2J')\n'\\u202e\\x1b[31m'");
  if (!reply.is_success()) return unclear("HTTP " + std::to_string(reply.status));
  for (const char c : reply.body) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) return reached("a raw byte " + std::to_string(byte));
  }
  return blocked("ASCII only");
}

Observation output_flood(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  const Reply reply =
      door.run(id, "import os\nb = b'x' * 65536\nfor _ in range(1024): os.write(1, b)");
  constexpr std::size_t kLarge = std::size_t{32} << 20U;
  if (reply.all.size() > kLarge) return reached(std::to_string(reply.all.size()) + " bytes");
  if (reply.status == 0) return unclear("no reply");
  return blocked("cut at " + std::to_string(reply.body.size()) + " bytes");
}

// A client that asks for a stream and never reads it.
Observation unread_stream(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  auto connection = door.connect();
  if (!connection) return unclear("no connection");
  const std::string body =
      R"j({"timeout_s":8,"code":"import os\nfor _ in range(999): os.write(1, b'x' * 65536)"})j";
  (void)connection->send("POST /v1/containers/" + id + "/execute HTTP/1.1\r\nHost: " +
                         host_header(door.address()) + "\r\n" + door.authorization() +
                         "Accept: application/x-ndjson\r\nContent-Type: application/json\r\n"
                         "Content-Length: " +
                         std::to_string(body.size()) + "\r\n\r\n" + body);
  std::string first;
  (void)connection->read_some(first);
  return door.answers() ? blocked("others are served") : reached("it answers no more");
}

Observation interpreter_killed(Door& door) {
  const std::string id = door.container();
  if (id.empty()) return unclear("no container could be made");
  (void)door.run(id, "x = 1");
  const Reply killed = door.run(id, "import os\nos._exit(0)");
  if (killed.status == 0) return reached("the server hangs when an interpreter ends");
  if (killed.body.find("\"state_preserved\":true") != std::string::npos) {
    return reached("state_preserved is claimed of an interpreter that has ended");
  }
  const Reply next = door.run(id, "x");
  return next.body.find("NameError") != std::string::npos
             ? blocked("state_preserved: false, and a fresh interpreter")
             : unclear("HTTP " + std::to_string(next.status));
}

constexpr std::array kProbes{
    door("d70", "forged-end", "writes the frame of a good end, and dies",
         "dify-sandbox result markers; peers B13", forged_end),
    door("d71", "forged-usage", "writes frames with an outcome and usage of its own",
         "dify-sandbox result markers; peers B13", forged_usage),
    door("d72", "huge-frame", "announces a frame of four gigabytes", "CWE-770", huge_frame),
    door("d73", "broken-frames", "writes frames that are no frames", "parser DoS class",
         broken_frames),
    door("d74", "forged-lines", "prints lines that look like events",
         "dify-sandbox result markers; peers B13", forged_lines),
    door("d75", "forged-server-sent-events", "prints what looks like server-sent events",
         "response splitting, CWE-113", forged_events),
    door("d76", "raw-terminal-bytes", "prints escape sequences and bytes that are not UTF-8",
         "terminal injection, CWE-150", raw_bytes),
    door("d77", "output-flood", "prints 64 megabytes", "CWE-770", output_flood),
    door("d78", "unread-stream", "streams sixty megabytes to a client that does not read",
         "slow read", unread_stream),
    door("d79", "interpreter-killed", "ends its interpreter and claims to be alive",
         "peers B13: exit codes as evidence", interpreter_killed),
};

}  // namespace

std::span<const DoorProbe> door_streams() { return kProbes; }

}  // namespace runner::reach
