// One line of the trace: what ran, on which input, under which policy, and what came of it. The
// lines of a session, in the order of `seq`, are enough to run it again. Plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/error.h"
#include "runner/session/denied.h"
#include "runner/session/outcome.h"

namespace runner::trace {

enum class Kind : std::uint8_t {
  kExecute,   // in a session
  kOnce,      // in a jail of its own
  kEvaluate,  // one arithmetic expression, by no process
  kUpload,    // a file put into a session
  kRemove,    // a file removed from a session by its client
  kCreate,    // a session that was refused
  kGap,       // records that could not be written stood here
};
const char* kind_text(Kind kind) noexcept;
// The others are about files, or about the trace itself.
constexpr bool runs_code(Kind kind) noexcept {
  return kind == Kind::kExecute || kind == Kind::kOnce || kind == Kind::kEvaluate;
}

struct TracedFile {
  std::string path;    // absolute, in the container; bytes
  std::string sha256;  // hex; empty: not known (larger than what is hashed at once)
  std::uint64_t bytes = 0;
};

// What was written to a stream, or one form of a result: text up to a cap, the hash of all.
struct Traced {
  std::string text;         // bytes as written, from the beginning
  std::uint64_t bytes = 0;  // of which `sha256` was made; more than text.size(): the text was cut
  std::string sha256;
};

struct TracedResult {
  bool is_main = false;
  std::map<std::string, Traced> data;  // by MIME type
};

struct TracedError {
  std::string name;
  std::string value;
  std::string traceback;
};

struct TracedPolicy {
  std::string name;
  std::string sha256;              // of the policy as `sandglass policy show` prints it
  std::uint64_t memory_bytes = 0;  // of this session: it may be less than the policy's
};

struct Record {
  std::string id;            // "exec_" and 32 hex digits
  std::int64_t time_us = 0;  // when it began: microseconds since 1970
  std::string session;       // the container's id; empty: none
  std::string owner;         // 16 hex digits that stand for whose it is; never a token
  std::uint64_t seq = 0;     // the how many-th of its session, from 1; 0: no session
  Kind kind = Kind::kExecute;
  Ending ending = Ending::kOk;
  std::string outcome = "ok";  // the outcome's word
  std::string text;            // one sentence, where there is more to say
  std::string title;           // the first line of the code, for people
  std::string language;
  std::string code;
  std::string code_sha256;  // as the line says that was read; empty: not of a line
  TracedPolicy policy;
  std::optional<std::string> input;  // stdin; of an evaluation, its sources
  std::optional<std::uint64_t> timeout_ms;
  std::vector<TracedFile> inputs;
  bool ran = true;  // false: refused or stopped before it began
  std::uint64_t number = 0;
  Traced out;
  Traced err;
  bool out_truncated = false;  // the policy's cap on output cut it
  bool err_truncated = false;
  std::vector<TracedResult> results;
  std::uint64_t results_dropped = 0;  // forms of results whose type is no name
  std::optional<TracedError> error;
  int exit_code = 0;
  bool state_preserved = false;
  std::vector<TracedFile> outputs;
  Usage usage;
  std::vector<DeniedEntry> denied;
  // kGap: how many records; and how many may not have reached the disk.
  std::uint64_t lost = 0;
  std::uint64_t unsynced = 0;
};

// What is kept of each stream and of each form of a result.
inline constexpr std::size_t kMostText = std::size_t{64} << 10U;
inline constexpr std::size_t kMostResult = std::size_t{1} << 20U;
inline constexpr std::size_t kMostResults = std::size_t{4} << 20U;  // of all results together

// One line of JSON, UTF-8, without its newline. `id`, `time`, `session`, `owner` and `seq` stand
// first, in this order: head_of() reads them without a parser.
std::string to_line(const Record& record);

// kUsage: the line is no record; the text says why.
Result<Record> record_of(std::string_view line);

struct Head {
  std::string_view id;
  std::string_view session;
  std::string_view owner;
  std::uint64_t seq = 0;
};
std::optional<Head> head_of(std::string_view line);

// Microseconds since 1970.
std::int64_t now_us();

// "2026-11-30T00:28:13.123456Z"
std::string time_text(std::int64_t microseconds);

}  // namespace runner::trace
