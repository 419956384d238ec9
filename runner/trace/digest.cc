#include "runner/trace/digest.h"

#include <array>
#include <cstdint>

namespace runner::trace {

Digest::Digest() { ::SHA256Init(&context_); }

void Digest::add(std::string_view bytes) {
  ::SHA256Update(&context_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string Digest::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
  ::SHA256Final(digest.data(), &context_);
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(digest.size() * 2, '0');
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = kDigits[digest.at(i) >> 4U];
    text[2 * i + 1] = kDigits[digest.at(i) & 15U];
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace runner::trace
