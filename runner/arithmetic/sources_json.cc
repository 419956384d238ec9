// A reader for one shape of JSON: a list of objects whose members are strings.
#include "runner/arithmetic/json_string.h"
#include "runner/arithmetic/sources.h"

namespace runner::arithmetic {
namespace {

class SourcesReader {
 public:
  explicit SourcesReader(std::string_view json) : json_(json) {}

  tl::expected<std::vector<Source>, std::string> run() {
    std::vector<Source> sources;
    bool good = accept('[');
    if (!good) fail("a list of sources is wanted");
    if (good && !accept(']')) {
      do {
        good = source(sources.emplace_back());
      } while (good && accept(','));
      if (good && !accept(']')) good = fail("',' or ']' is wanted");
    }
    if (good && skip_json_space(json_, at_) != json_.size())
      good = fail("something follows the list");
    if (!good) return tl::unexpected<std::string>(error_);
    return sources;
  }

 private:
  bool fail(std::string_view text) {
    if (error_.empty())
      error_ = "sources: " + std::string(text) + " at byte " + std::to_string(at_);
    return false;
  }

  bool accept(char wanted) {
    at_ = skip_json_space(json_, at_);
    if (at_ >= json_.size() || json_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool string(std::string& out) {
    at_ = skip_json_space(json_, at_);
    if (at_ >= json_.size() || json_[at_] != '"') return fail("a string is wanted");
    std::string storage;
    const JsonString read = read_json_string(json_, at_, storage);
    at_ = read.end;
    if (!read.error.empty()) return fail(read.error);
    out.assign(read.text);
    return true;
  }

  bool source(Source& out) {
    bool has_cite = false;
    bool has_text = false;
    if (!accept('{')) return fail("an object {\"cite\": ..., \"text\": ...} is wanted");
    do {
      std::string key;
      if (!string(key)) return false;
      if (!accept(':')) return fail("':' is wanted");
      bool& seen = key == "cite" ? has_cite : has_text;
      if ((key != "cite" && key != "text") || seen)
        return fail("unknown or repeated key \"" + key + "\"");
      seen = true;
      if (!string(key == "cite" ? out.cite : out.text)) return false;
    } while (accept(','));
    if (!accept('}')) return fail("',' or '}' is wanted");
    return (has_cite && has_text) || fail("a source needs \"cite\" and \"text\"");
  }

  std::string_view json_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

tl::expected<std::vector<Source>, std::string> sources_from_json(std::string_view json) {
  return SourcesReader(json).run();
}

}  // namespace runner::arithmetic
