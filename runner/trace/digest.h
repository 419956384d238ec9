// SHA-256 (FIPS 180-4) as 64 hex digits. Pure; any thread.
#pragma once

#include <sha256.h>

#include <string>
#include <string_view>

namespace runner::trace {

std::string sha256(std::string_view bytes);

// Of bytes that come in pieces.
class Digest {
 public:
  Digest();
  void add(std::string_view bytes);
  // Of all that was added. Once only.
  std::string hex();

 private:
  void pad();

  SHA2_CTX context_{};
};

}  // namespace runner::trace
