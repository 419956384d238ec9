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

// FIPS 180-4 section 5.1.1: a one bit, zeros, and the number of bits, to whole blocks.
void Digest::pad() {
  std::array<std::uint8_t, std::size_t{2} * SHA256_BLOCK_LENGTH> tail{};
  const std::uint64_t bits = context_.bitcount[0];
  const std::size_t begun = bits / 8 % SHA256_BLOCK_LENGTH;
  std::copy_n(static_cast<const std::uint8_t*>(context_.buffer), begun, tail.begin());
  tail.at(begun) = 0x80;
  const std::size_t blocks = begun < SHA256_BLOCK_LENGTH - 8 ? 1 : 2;
  for (std::size_t i = 0; i < 8; ++i)
    tail.at(blocks * SHA256_BLOCK_LENGTH - 1 - i) = static_cast<std::uint8_t>(bits >> (8 * i));
  sha256_blocks(static_cast<std::uint32_t*>(context_.state.st32), tail.data(), blocks);
}

std::string Digest::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
  if (has_sha_extensions()) {
    pad();
    for (std::size_t i = 0; i < digest.size(); ++i)
      digest.at(i) = static_cast<std::uint8_t>(context_.state.st32[i / 4] >> (24 - 8 * (i % 4)));
  } else {
    ::SHA256Final(digest.data(), &context_);
  }
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
