// What a person reads on the terminal. Errors and notes go to stderr, one line each, and begin
// with "sandglass: ". Main thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/error.h"
#include "runner/session/one_shot.h"
#include "runner/wire/outcome_json.h"

namespace runner::cli {

enum class Form { kText, kJson };

// Prints "sandglass: TEXT", and with kJson the error as JSON on stdout. Returns the exit code.
int print_error(const Error& error, Form form = Form::kText);

void note(std::string_view text);  // "sandglass: TEXT" on stderr
void put(std::string_view text);   // to stdout as it is; a reader that has gone is no error
int& put_error();                  // the first errno of put(), or 0

// To stdout as it is, all of it, also where stdout does not block. 0, or the errno of write(2).
[[nodiscard]] int try_put(std::string_view text);

// The exit code after try_put() failed: quiet where the reader has gone, else with one line.
int lost_output(int error);

// After the payload's own output: what was cut, why it ended, what was refused, what stayed inside.
void print_notes(const JobReport& finished);

// The JSON document of --json, on stdout.
void print_json(const JobReport& finished);

// The limits in force and who sees to each.
std::vector<wire::LimitLine> limit_lines(const JobReport& finished);

}  // namespace runner::cli
