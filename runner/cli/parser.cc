#include "runner/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>

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
}

void Parser::repeated(const char* name, std::vector<std::string>& into, const char* help,
                      const char* type) {
  app_->app.add_option(name, into, help)->allow_extra_args(false)->type_name(type);
}

void Parser::flag(const char* name, bool& into, const char* help) {
  app_->app.add_flag(name, into, help);
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

std::optional<int> Parser::parse(const std::vector<std::string>& words) {
  const std::string see = "; see sandglass " + app_->app.get_name() + " --help";
  if (const std::string name = empty_option(words); !name.empty()) {
    return refuse(name + "= is empty: give a value" + see, words);
  }
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
