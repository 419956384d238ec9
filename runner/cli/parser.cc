#include "runner/cli/parser.h"

#include <CLI/CLI.hpp>

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

void Parser::leave_rest() { app_->app.prefix_command(); }

std::optional<int> Parser::parse(const std::vector<std::string>& words) {
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 wants it so
  try {
    app_->app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    app_->app.formatter(std::make_shared<Help>(app_->usage));
    put(app_->app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    const std::string name = app_->app.get_name();
    note(name + ": " + printable(error.what()) + "; see sandglass " + name + " --help");
    return kFailed;
  }
  return std::nullopt;
}

std::vector<std::string> Parser::rest() const { return app_->app.remaining(); }

}  // namespace runner::cli
