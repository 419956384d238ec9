#include "runner/wire/utf8_stream.h"

#include <utility>

#include "runner/text.h"

namespace runner::wire {

std::string Utf8Stream::take(std::string_view bytes) {
  std::string all = std::exchange(held_, {});
  all += bytes;
  const std::size_t whole = without_partial_character(all).size();
  held_ = all.substr(whole);
  all.resize(whole);
  return all;
}

std::string Utf8Stream::rest() { return std::exchange(held_, {}); }

}  // namespace runner::wire
