// What the cases here share. Each run is checked for what must hold of any run: it ended, within
// its bound, and left nothing behind.
#pragma once

#include <sys/types.h>

#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/support/run_binary.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_dir.h"

namespace e2e {

using support::Call;
using support::Ran;
using Words = std::vector<std::string>;

// Checks that the whole run took less than `bound`, and that nothing is left.
Ran run(const Call& call, std::chrono::milliseconds bound = std::chrono::seconds(20));
Ran run(const Words& args);

// "exec --json --ro-bind PAYLOADS:/payloads ... -- /payloads/NAME ARGS" and the like.
Words payload(const Words& options, const Words& command);

// The document of a --json run; fails the case if stdout is not exactly one.
boost::json::object document(const Ran& ran);
// document(run(...)), where `args` has --json.
boost::json::object report(const Words& args);
std::string text(const boost::json::object& object, const char* key);

// Stderr without its last line feed, for messages of one line.
std::string line(const Ran& ran);

// The whole of a file; "?" when it cannot be read.
std::string contents(const std::string& path);
void write(const std::string& path, const std::string& text);
// All names below a folder, sorted, folders with a slash at their end.
Words tree(const std::string& folder);

bool contains(const std::string& text, const std::string& part);

// What `probe`, `compare` and the gate set up outside (reach/outside.h): there is some of the run
// that this process is; and waiting for it.
bool has_outside(pid_t pid);
bool comes_to_outside(pid_t pid);

// What is built, copied into a folder: it may be changed there, and who may enter the folder can
// run it.
void install(const std::string& folder);

// What every case that makes a jail needs of this host.
void require_jails();

}  // namespace e2e
