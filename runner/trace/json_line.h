// JSON put together front to back, in one string: a record is written while a client waits. Any
// thread; one object is not to be shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace runner::trace {

constexpr std::string_view truth(bool value) { return value ? "true" : "false"; }

class JsonLine {
 public:
  JsonLine() { out_.reserve(1024); }

  // `name` is null in an array and at the top; of open() it may be any UTF-8, of the others it has
  // nothing to escape.
  void open(const char* name, char bracket);
  void close(char bracket) { out_ += bracket; }
  void text(const char* name, std::string_view utf8);
  // Text, and under `name`_base64 the bytes where they are no UTF-8.
  void bytes(const char* name, std::string_view bytes);
  void number(const char* name, std::uint64_t value);
  void integer(const char* name, std::int64_t value);
  // `word` as it is: true, false, null.
  void literal(const char* name, std::string_view word);

  std::string take() && { return std::move(out_); }

 private:
  void comma();
  void key(const char* name);
  void quote(std::string_view utf8);

  std::string out_;
};

}  // namespace runner::trace
