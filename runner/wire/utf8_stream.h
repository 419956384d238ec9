// Bytes that arrive in pieces, made into text piece by piece: a character split over two pieces
// waits for its end. One object a stream; pure.
#pragma once

#include <string>
#include <string_view>

namespace runner::wire {

class Utf8Stream {
 public:
  // What can be told now: all but an unfinished character at the end (at most three bytes).
  std::string take(std::string_view bytes);
  // The unfinished character, if any: nothing will finish it.
  std::string rest();

 private:
  std::string held_;
};

}  // namespace runner::wire
