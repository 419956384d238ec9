// The arguments and results of each tool as JSON Schema. Text, so that they read as what they are.
#pragma once

#include <string_view>

namespace runner::mcp {

inline constexpr std::string_view kExecuteInput = R"({
 "type":"object","required":["code"],"additionalProperties":false,
 "properties":{
  "code":{"type":"string","description":"The program text."},
  "language":{"type":"string","default":"python",
   "description":"Of a new session; with session_id it must be the session's own."},
  "session_id":{"type":"string","maxLength":128,
   "description":"From an earlier result. Without it a new session is made."},
  "timeout_s":{"type":"number","exclusiveMinimum":0,"maximum":86400,
   "description":"Seconds until the code is interrupted; the policy's own limit holds as well."}}})";

inline constexpr std::string_view kExecuteOutput = R"({
 "type":"object","additionalProperties":false,
 "required":["session_id","session_is_new","execution_count","outcome","ending","exit_code","status",
  "signal","text","state_preserved","limit","truncated","produced","usage","stdout","stderr","results","error",
  "denied","files","expires_at","notes"],
 "properties":{
  "session_id":{"type":"string"},
  "session_is_new":{"type":"boolean"},
  "execution_count":{"type":"integer","description":"Of this session's interpreter."},
  "outcome":{"enum":["ok","raised","exited","signalled","timed_out","cpu_exceeded","out_of_memory",
   "output_limit","process_limit","disk_full","interrupted","killed","expired","refused","declined"]},
  "ending":{"enum":["ok","failure","refusal","decline","timeout","error","stopped"]},
  "exit_code":{"type":"integer"},
  "status":{"type":["integer","null"],"description":"The interpreter's own exit status."},
  "signal":{"type":["string","null"]},
  "text":{"type":"string","description":"Why it ended, in one sentence; empty for ok."},
  "state_preserved":{"type":"boolean","description":"Whether variables live on. Files do either way."},
  "limit":{"type":["object","null"],"required":["name","limit","value","peak","unit"],
   "properties":{"name":{"type":"string"},"limit":{"type":"string"},"value":{"type":"integer"},
    "peak":{"type":["integer","null"]},"unit":{"enum":["bytes","ms","count"]}}},
  "truncated":{"type":"object","required":["stdout","stderr"],
   "properties":{"stdout":{"type":"boolean"},"stderr":{"type":"boolean"}}},
  "produced":{"type":"object","required":["stdout","stderr"],
   "description":"Bytes written, also those that are cut.",
   "properties":{"stdout":{"type":"integer"},"stderr":{"type":"integer"}}},
  "usage":{"type":"object","required":["wall_ms","cpu_ms","peak_memory_bytes","peak_memory_from"],
   "properties":{"wall_ms":{"type":"integer"},"cpu_ms":{"type":"integer"},
    "peak_memory_bytes":{"type":["integer","null"]},"peak_memory_from":{"type":["string","null"]}}},
  "stdout":{"type":"string"},
  "stderr":{"type":"string"},
  "results":{"type":"array","items":{"type":"object","required":["is_main_result","images"],
   "properties":{"is_main_result":{"type":"boolean"},"text":{"type":"string"},"html":{"type":"string"},
    "markdown":{"type":"string"},"latex":{"type":"string"},"svg":{"type":"string"},
    "javascript":{"type":"string"},"images":{"type":"array","items":{"type":"string"},
     "description":"Types of the image blocks in `content` that belong to it."}}}},
  "error":{"type":["object","null"],"required":["name","value","traceback"],
   "properties":{"name":{"type":"string"},"value":{"type":"string"},"traceback":{"type":"string"}}},
  "denied":{"type":"array","description":"System calls that the policy refused.",
   "items":{"type":"object","required":["syscall","args","count","rule","allow_with"],
    "properties":{"syscall":{"type":"string"},"args":{"type":"string"},"count":{"type":"integer"},
     "rule":{"type":"string"},"allow_with":{"type":"string"}}}},
  "files":{"type":"array","description":"Made or changed by this execution.",
   "items":{"type":"object","required":["path","uri","bytes","mime_type","source","sha256"],
    "properties":{"path":{"type":"string"},"uri":{"type":"string"},"bytes":{"type":"integer"},
     "mime_type":{"type":"string"},"source":{"enum":["user","code"]},
     "sha256":{"type":["string","null"]},"sha256_note":{"type":"string"}}}},
  "expires_at":{"type":["integer","null"],"description":"Unix seconds; any call puts it off."},
  "notes":{"type":"array","items":{"type":"string"},
   "description":"What was cut, left out or not offered, and what became of a cancelled call."}}})";

inline constexpr std::string_view kEvaluateInput = R"({
 "type":"object","required":["expression"],"additionalProperties":false,
 "properties":{
  "expression":{"type":"string","description":"For example: 38.50 + 41.00"},
  "sources":{"type":"array","maxItems":1000,
   "items":{"type":"object","required":["cite","text"],"additionalProperties":false,
    "properties":{"cite":{"type":"string"},"text":{"type":"string"}}}}}})";

inline constexpr std::string_view kEvaluateOutput = R"({
 "type":"object","additionalProperties":false,
 "properties":{
  "value":{"type":"string","description":"Python's repr of the value."},
  "note":{"type":"string"},
  "refused":{"enum":["length","syntax","whitelist","depth","not_finite","arithmetic"]},
  "message":{"type":"string"},
  "hint":{"type":"string"},
  "declined":{"type":"boolean","description":"The text is empty or NONE."},
  "numbers":{"type":"array","items":{"type":"object","required":["number","cites"],
   "properties":{"number":{"type":"string"},"cites":{"type":"array","items":{"type":"string"}}}}},
  "unsourced":{"type":"array","items":{"type":"string"}}}})";

inline constexpr std::string_view kListInput = R"({
 "type":"object","required":["session_id"],"additionalProperties":false,
 "properties":{
  "session_id":{"type":"string","maxLength":128},
  "after":{"type":"string","maxLength":4096,"description":"A path: list what comes behind it."}}})";

inline constexpr std::string_view kListOutput = R"({
 "type":"object","additionalProperties":false,"required":["session_id","files","has_more"],
 "properties":{
  "session_id":{"type":"string"},
  "has_more":{"type":"boolean"},
  "files":{"type":"array","items":{"type":"object",
   "required":["path","uri","bytes","mime_type","source","sha256"],
   "properties":{"path":{"type":"string"},"uri":{"type":"string"},"bytes":{"type":"integer"},
    "mime_type":{"type":"string"},"source":{"enum":["user","code"]},
    "sha256":{"type":["string","null"]},"sha256_note":{"type":"string"}}}}}})";

inline constexpr std::string_view kReadInput = R"({
 "type":"object","required":["session_id","path"],"additionalProperties":false,
 "properties":{
  "session_id":{"type":"string","maxLength":128},
  "path":{"type":"string","maxLength":4096,"description":"Absolute, or below /mnt/data."},
  "offset":{"type":"integer","minimum":0,"description":"The first byte wanted."},
  "max_bytes":{"type":"integer","minimum":1,"maximum":262144,"default":65536}}})";

inline constexpr std::string_view kReadOutput = R"({
 "type":"object","additionalProperties":false,
 "required":["session_id","path","uri","bytes","mime_type","offset","encoding","content","truncated"],
 "properties":{
  "session_id":{"type":"string"},
  "path":{"type":"string"},
  "uri":{"type":"string"},
  "bytes":{"type":"integer","description":"The whole file's."},
  "mime_type":{"type":"string"},
  "offset":{"type":"integer"},
  "next_offset":{"type":"integer","description":"Where the rest begins, if truncated."},
  "encoding":{"enum":["utf-8","base64","image"],
   "description":"image: the whole file is an image block in `content` of the result."},
  "content":{"type":"string"},
  "truncated":{"type":"boolean"}}})";

inline constexpr std::string_view kWriteInput = R"({
 "type":"object","required":["path"],"additionalProperties":false,
 "properties":{
  "path":{"type":"string","maxLength":4096,"description":"A name, or /mnt/data/NAME; no folders."},
  "content":{"type":"string","description":"Text; or else content_base64."},
  "content_base64":{"type":"string"},
  "session_id":{"type":"string","maxLength":128}}})";

inline constexpr std::string_view kWriteOutput = R"({
 "type":"object","additionalProperties":false,"required":["session_id","session_is_new","file"],
 "properties":{
  "session_id":{"type":"string"},
  "session_is_new":{"type":"boolean"},
  "file":{"type":"object","required":["path","uri","bytes","mime_type","source","sha256"],
   "properties":{"path":{"type":"string"},"uri":{"type":"string"},"bytes":{"type":"integer"},
    "mime_type":{"type":"string"},"source":{"enum":["user","code"]},
    "sha256":{"type":["string","null"]},"sha256_note":{"type":"string"}}}}})";

inline constexpr std::string_view kCloseInput = R"({
 "type":"object","required":["session_id"],"additionalProperties":false,
 "properties":{"session_id":{"type":"string","maxLength":128}}})";

inline constexpr std::string_view kCloseOutput = R"({
 "type":"object","additionalProperties":false,"required":["session_id","closed"],
 "properties":{"session_id":{"type":"string"},"closed":{"type":"boolean"}}})";

}  // namespace runner::mcp
