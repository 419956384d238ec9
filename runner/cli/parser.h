// The options of one command: a thin face for CLI11, whose headers are dear to compile.
// Main thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/settings.h"
#include "runner/error.h"

namespace runner::cli {

class Parser {
 public:
  // `command` is its name, `purpose` a sentence, `usage` the line that heads the help.
  Parser(const char* command, const char* purpose, const char* usage);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  Parser(Parser&&) = delete;
  Parser& operator=(Parser&&) = delete;

  // `into` must outlive parse(). A `name` without a dash is a positional. `type` is for the help.
  void text(const char* name, std::optional<std::string>& into, const char* help, const char* type);
  // May be given several times, one value each: more would swallow the words that follow.
  void repeated(const char* name, std::vector<std::string>& into, const char* help,
                const char* type);
  void flag(const char* name, bool& into, const char* help);
  // "--config FILE": a TOML file whose keys are the other options' names (policies/settings.h).
  // What stands on the command line wins over it; of what may be repeated, both count.
  void settings_file();
  // The first word that is no option, and all after it, are left for rest().
  void leave_rest();

  // What to say of a word too many, where it is no option.
  void hint_at_extras(const char* hint);

  // nullopt: go on. Otherwise the exit code: help was printed (0), or the words are wrong (125,
  // with one line on stderr, and with --json an error object).
  std::optional<int> parse(const std::vector<std::string>& words);
  [[nodiscard]] std::vector<std::string> rest() const;

 private:
  using Words = std::vector<std::string>;
  enum class Takes : std::uint8_t { kOne, kSeveral, kNothing };

  [[nodiscard]] Result<Words> with_settings(const Words& words) const;
  [[nodiscard]] Result<Words> as_words(const policies::Setting& setting, const Words& words) const;
  [[nodiscard]] std::string empty_option(const std::vector<std::string>& words) const;
  [[nodiscard]] int refuse(const std::string& what, const std::vector<std::string>& words) const;

  struct App;
  std::unique_ptr<App> app_;
  const char* hint_ = nullptr;
  std::map<std::string, Takes> options_;  // by name
  std::optional<std::string> settings_;
};

}  // namespace runner::cli
