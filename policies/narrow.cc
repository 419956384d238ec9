#include "policies/narrow.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "policies/quantity.h"

namespace policies {
namespace {

std::string text(Bytes v) { return print_size(v); }
std::string text(Millis v) { return print_duration(v); }
std::string text(std::uint64_t v) { return std::to_string(v); }

// Throws Error.
template <class T>
void lower(T& value, const std::optional<T>& wish, const Policy& policy, std::string_view key,
           std::type_identity_t<T> least) {
  if (!wish) return;
  if (*wish > value)
    throw Error{std::string(key) + ": " + text(*wish) + " was asked for, but the policy \"" +
                policy.name + "\" gives " + text(value) +
                "; ask for at most that, take another policy, or write a policy file that extends "
                "\"" +
                policy.name + "\" with more"};
  if (*wish < least)
    throw Error{std::string(key) + ": " + text(*wish) +
                " was asked for; nothing runs with less "
                "than " +
                text(least)};
  value = *wish;
}

}  // namespace

Result<Policy> narrow(Policy policy, const Wish& wish) {
  try {
    Limits& l = policy.limits;
    Files& f = policy.files;
    lower(l.memory, wish.memory, policy, "memory", jail::mib(16));
    lower(l.cpu_time, wish.cpu_time, policy, "cpu_time", Millis(10));
    lower(l.wall_time, wish.wall_time, policy, "wall_time", Millis(10));
    lower(l.processes, wish.processes, policy, "processes", 1);
    lower(l.file_size, wish.file_size, policy, "file_size", Bytes{1});
    lower(f.workdir.size, wish.workdir_size, policy, "workdir_size", jail::kib(64));
    lower(l.output, wish.output, policy, "output", jail::kib(1));
    f.workdir.size = std::min(f.workdir.size, l.memory);
    f.max_file = std::min(f.max_file, f.workdir.size);
    for (Tmpfs& fs : f.scratch) fs.size = std::min(fs.size, l.memory);
    return policy;
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

}  // namespace policies
