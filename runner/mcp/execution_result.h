// An execution's events, gathered into what execute_code answers. Memory is bounded whatever the
// code prints: what is beyond the caps is left out, and the result says so. Pure.
//
// What we say comes first in the text: whatever stands behind a "--- stdout" line was written by
// the code, and may look like anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/mcp/message.h"
#include "runner/service.h"

namespace runner::mcp {

inline constexpr std::size_t kMostStream = std::size_t{64} << 10U;   // of stdout, of stderr
inline constexpr std::size_t kMostResults = std::size_t{64} << 10U;  // of all results but images
// Base64, of all images. Official clients take no message over 10 MiB from a pipe.
inline constexpr std::size_t kMostImages = std::size_t{6} << 20U;

class ExecutionResult {
 public:
  void add(const ExecutionEvent& event);

  struct Place {
    std::string session_id;
    bool is_new = false;
  };
  // The result of tools/call. `notes` are sentences of ours that come beside the result's own.
  [[nodiscard]] json::object object(const Place& place, std::vector<std::string> notes) const;

  // The last line printed so far, made fit to be shown; may be empty.
  [[nodiscard]] std::string last_line() const;
  [[nodiscard]] bool has_begun() const { return begun_.number != 0; }
  [[nodiscard]] const std::optional<Finished>& finished() const { return finished_; }

 private:
  struct Kept {
    std::string bytes;
    bool is_cut = false;
    void add(std::string_view more);
  };
  struct Image {
    std::string mime_type;
    std::string base64;
  };

  void add_output(const Output& output);
  void add_rich(const Rich& rich);
  bool add_image(const std::string& mime_type, const std::string& base64);
  [[nodiscard]] std::string text(const Place& place, const std::vector<std::string>& notes) const;
  void add_own_notes(std::vector<std::string>& notes) const;

  Begun begun_;
  Kept out_;
  Kept err_;
  std::string tail_;
  json::array results_;
  std::vector<std::string> plain_;  // the text/plain of each result that has one
  std::vector<Image> images_;
  std::size_t held_by_results_ = 0;
  std::size_t held_by_images_ = 0;
  std::vector<std::string> left_out_;
  std::uint64_t left_out_total_ = 0;
  std::optional<Raised> raised_;
  std::optional<Finished> finished_;
};

// Whether the variables and files live on, as a clause.
const char* state_text(const Outcome& outcome) noexcept;

}  // namespace runner::mcp
