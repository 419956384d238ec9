// What every payload here shares: it tells what it found as lines "key value" on stdout.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>

namespace payload {

// "OK" for 0, else the errno's symbol.
inline const char* word(int error) {
  if (error == 0) return "OK";
  const char* name = ::strerrorname_np(error);
  return name != nullptr ? name : "?";
}

// The errno of a call that gives -1, else 0.
inline int error_of(long result) { return result == -1 ? errno : 0; }
inline int error_of(const void* mapped) { return reinterpret_cast<long>(mapped) == -1 ? errno : 0; }

inline void say(const char* key, const char* value) {
  std::printf("%s %s\n", key, value);
  std::ignore = std::fflush(stdout);
}

inline void say(const char* key, long long value) {
  std::printf("%s %lld\n", key, value);
  std::ignore = std::fflush(stdout);
}

inline void ready() { say("ready", "yes"); }

}  // namespace payload
