// Another sandbox of this host as a subject: a command line that runs a command inside it, such as
// bwrap --unshare-all --ro-bind / / --
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runner/error.h"
#include "runner/reach/outside.h"
#include "runner/reach/subject.h"
#include "runner/reach/surface.h"

namespace runner::reach {

// At spaces; '...' and "..." keep them, a backslash keeps the next character. Nothing is expanded.
// kUsage: an open quote, no word at all.
Result<std::vector<std::string>> split_command(std::string_view text);

// The sandbox's words and then the command's, "{helper}" in the sandbox's replaced by the path of
// the program that carries probes out, which the sandbox may have to be told to show.
std::vector<std::string> command_under(const std::vector<std::string>& sandbox,
                                       const std::string& helper,
                                       const std::vector<std::string>& command);

// What a command said and how it ended. Its whole process group is killed at the time limit, when
// we are told to end (interrupt.h), and, what it left there, at its end.
struct Said {
  std::string out;  // of more than 512 KiB the end, at least 256 KiB
  std::string err;
  int wait_status = 0;
  bool in_time = true;
};
// kHost: it cannot be started.
Result<Said> run_plainly(const std::vector<std::string>& words, const std::vector<std::string>& env,
                         std::chrono::milliseconds limit);

// Runs probes in the sandbox, which itself is started as the control is (control.h): by an
// unprivileged user whatever we are, and bounded, since nobody knows what the sandbox bounds.
// `outside` must outlive it. Any thread.
// kHost: there is no such program. kFiles: the installation lacks one.
Result<std::unique_ptr<Subject>> make_under(const Outside& outside,
                                            std::vector<std::string> sandbox);

// What the helper finds out inside (facts.h), started likewise. kHost: it cannot be run there, with
// what the sandbox said and how to show the helper to it.
Result<Surface> measure_under(const Outside& outside, const std::vector<std::string>& sandbox,
                              std::vector<Call> calls);

}  // namespace runner::reach
