#include "runner/trace/digest.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "runner/trace/sha_extensions.h"

namespace runner::trace {

Digest::Digest() { ::SHA256Init(&context_); }

// sha2(3): the context holds the state, the number of bits, and what is less than a block.
void Digest::add(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  if (has_sha_extensions()) {
    const std::size_t begun = context_.bitcount[0] / 8 % SHA256_BLOCK_LENGTH;
    const std::size_t rest = begun == 0 ? 0 : std::min(left, SHA256_BLOCK_LENGTH - begun);
    ::SHA256Update(&context_, data, rest);
    data += rest;
    left -= rest;
    const std::size_t blocks = left / SHA256_BLOCK_LENGTH;
    sha256_blocks(static_cast<std::uint32_t*>(context_.state.st32), data, blocks);
    context_.bitcount[0] += std::uint64_t{blocks} * SHA256_BLOCK_LENGTH * 8;
    data += blocks * SHA256_BLOCK_LENGTH;
    left -= blocks * SHA256_BLOCK_LENGTH;
  }
  ::SHA256Update(&context_, data, left);
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
