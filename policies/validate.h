// The rules between the keys of a resolved policy. Pure: the host is not looked at. Any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "policies/error.h"
#include "policies/parse.h"
#include "policies/policy.h"
#include "policies/syscalls.h"

namespace policies {

// What a policy can give up against the hard floor of `tight`. Each needs a reason under [unsafe].
struct Weakening {
  std::string_view key;
  std::string_view means;
};
inline constexpr std::array kWeakenings{
    Weakening{"writable_code", "memory may be writable and executable at once"},
    Weakening{"exec_from_workdir", "programs written to the workdir can be run"},
    Weakening{"exec_from_scratch", "programs written to /tmp or /dev/shm can be run"},
    Weakening{"exec_from_memory", "programs can be run from memory"},
    Weakening{"whole_proc", "/proc shows the host's hardware and load, masked where it is worst"},
    Weakening{"shared_locks", "locks on shared read-only files can be seen from other jails"},
    Weakening{"watched_files", "it can see when others open files of shared read-only folders"},
    Weakening{"inet_sockets", "IP sockets exist, inside a network without a way out"},
    Weakening{"process_control", "processes can change how the kernel treats them"},
    Weakening{"extra_devices", "devices beyond null, zero, full, random and urandom"},
    Weakening{"host_files", "files from places where a host keeps its own data"},
};

// Names that [arithmetic] may give.
inline constexpr std::array<std::string_view, 3> kOperators{"%", "//", "**"};
inline constexpr std::array<std::string_view, 6> kFunctions{"sqrt", "round", "abs",
                                                            "min",  "max",   "sum"};

// The first broken rule, or the keys of kWeakenings that are in force, in their order. `places`
// puts FILE:LINE:COLUMN in front of an error; may be empty.
Result<std::vector<std::string>> validate(const Policy& policy, const SyscallTable& table,
                                          const Places& places);

// May this host path be bound into a jail at all? The text says why not; empty: it may.
std::string refuse_bind_source(std::string_view path);

// Absolute, no "." or "..", no double or trailing slash, no control characters, under 4096 bytes.
// The text says what is wrong; empty: nothing.
std::string refuse_path(std::string_view path);

}  // namespace policies
