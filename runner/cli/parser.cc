#include "runner/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "policies/nearest.h"
#include "runner/cli/command.h"
#include "runner/cli/print.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

// CLI11 2.1 makes up the usage line; ours is written by hand.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

constexpr const char* kConfig = "--config";

bool gives(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

}  // namespace

struct Parser::App {
  App(const char* purpose, const char* command, const char* usage_line)
      : app(purpose, command), usage(usage_line) {}
  CLI::App app;
  std::string usage;
};

Parser::Parser(const char* command, const char* purpose, const char* usage)
    : app_(std::make_unique<App>(purpose, command, usage)) {}

Parser::~Parser() = default;

void Parser::text(const char* name, std::optional<std::string>& into, const char* help,
                  const char* type) {
  app_->app
      .add_option_function<std::string>(
          name, [&into](const std::string& value) { into = value; }, help)
      ->type_name(type);
  options_[name] = Takes::kOne;
}

void Parser::repeated(const char* name, std::vector<std::string>& into, const char* help,
                      const char* type) {
  app_->app.add_option(name, into, help)->allow_extra_args(false)->type_name(type);
  options_[name] = Takes::kSeveral;
}

void Parser::flag(const char* name, bool& into, const char* help) {
  app_->app.add_flag(name, into, help);
  options_[name] = Takes::kNothing;
}

void Parser::settings_file() {
  text(kConfig, settings_,
       "a TOML file: each of these options by its name, such as listen = \"127.0.0.1:8611\"; the "
       "command line wins",
       "FILE");
}

void Parser::hint_at_extras(const char* hint) { hint_ = hint; }

void Parser::leave_rest() { app_->app.prefix_command(); }

// "--memory=": CLI11 would take the word after it.
std::string Parser::empty_option(const std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i].substr(0, words[i].find('='));
    const CLI::Option* option = app_->app.get_option_no_throw(name);
    if (!name.starts_with('-') || option == nullptr) {
      if (!name.starts_with('-') && app_->app.get_prefix_command()) break;  // the program's own
      continue;
    }
    if (name.starts_with("--") && words[i].size() == name.size() + 1) return name;
    if (words[i].size() == name.size() && option->get_expected_min() > 0) ++i;  // its value
  }
  return "";
}

int Parser::refuse(const std::string& what, const std::vector<std::string>& words) const {
  const std::string name = app_->app.get_name();
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  return print_error({ErrorKind::kUsage, name + ": " + what}, json ? Form::kJson : Form::kText);
}

// One setting as words of the command line; none if those that are there win over it.
Result<Parser::Words> Parser::as_words(const policies::Setting& setting, const Words& words) const {
  const auto refuse_it = [&](const std::string& why) {
    return fail(ErrorKind::kUsage, printable(setting.place) + ": " + why);
  };
  const std::string option = "--" + setting.name;
  const auto known = options_.find(option);
  if (known == options_.end() || option == kConfig) {
    Words names;
    for (const auto& entry : options_) {
      if (entry.first.starts_with("--") && entry.first != kConfig) {
        names.push_back(entry.first.substr(2));
      }
    }
    std::string hint = policies::did_you_mean(setting.name, names);
    if (hint.empty()) hint = "; there are " + policies::join(names);
    return refuse_it("unknown key" + hint);
  }
  using Kind = policies::Setting::Kind;
  if (known->second == Takes::kNothing && setting.kind != Kind::kSwitch) {
    return refuse_it("must be true or false");
  }
  if (known->second == Takes::kOne && setting.kind == Kind::kList) {
    return refuse_it("takes one value, not a list");
  }
  if (known->second != Takes::kNothing && setting.kind == Kind::kSwitch) {
    return refuse_it("must be a value in quotes");
  }
  if (known->second != Takes::kSeveral && gives(words, option)) return Words{};
  Words result;
  for (const std::string& value : setting.values) result.push_back(option + "=" + value);
  return result;
}

// The settings of the file that `words` name come first.
Result<Parser::Words> Parser::with_settings(const Words& words) const {
  if (options_.count(kConfig) == 0) return words;
  std::optional<std::string> path;
  const std::string with_value = std::string(kConfig) + "=";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(with_value)) path = words[i].substr(with_value.size());
    if (words[i] == kConfig && i + 1 < words.size()) path = words[++i];
  }
  if (!path) return words;
  const auto settings = policies::read_settings(*path);
  if (!settings) return fail(ErrorKind::kUsage, printable(settings.error().text));
  Words all;
  // Of each name: trace-sync is trace_sync is trace.sync.
  std::map<std::string, std::string> places;
  for (const policies::Setting& setting : *settings) {
    const auto [before, is_new] = places.try_emplace(setting.name, setting.place);
    if (!is_new)
      return fail(ErrorKind::kUsage, printable(setting.place) + ": is the same setting as " +
                                         printable(before->second) + "; remove one of the two");
    auto more = as_words(setting, words);
    if (!more) return more;
    all.insert(all.end(), more->begin(), more->end());
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::optional<int> Parser::parse(const std::vector<std::string>& words_given) {
  const std::string see = "; see sandglass " + app_->app.get_name() + " --help";
  if (const std::string name = empty_option(words_given); !name.empty()) {
    return refuse(name + "= is empty: give a value" + see, words_given);
  }
  const auto all = with_settings(words_given);
  if (!all) return refuse(all.error().text + see, words_given);
  const Words& words = *all;
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 wants it so
  try {
    app_->app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    app_->app.formatter(std::make_shared<Help>(app_->usage));
    put(app_->app.help());
    return 0;
  } catch (const CLI::ExtrasError& error) {
    const auto extra = app_->app.remaining();
    const bool words_of_program = hint_ != nullptr && !extra.empty() && extra[0][0] != '-';
    return refuse(printable(error.what()) + (words_of_program ? "; " + std::string(hint_) : see),
                  words);
  } catch (const CLI::ParseError& error) {
    return refuse(printable(error.what()) + see, words);
  }
  return std::nullopt;
}

std::vector<std::string> Parser::rest() const { return app_->app.remaining(); }

}  // namespace runner::cli
