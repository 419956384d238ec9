#include "runner/trace/sha_extensions.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>

#include <array>

namespace runner::trace {
namespace {

// FIPS 180-4 section 4.2.2.
alignas(16) constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct Words {
  __m128i four;
};

bool find_out() {
  constexpr unsigned kSha = 1U << 29U;    // of leaf 7's ebx
  constexpr unsigned kSse41 = 1U << 19U;  // of leaf 1's ecx
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

template <class T>
__m128i load(const T* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

void store(std::uint32_t* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

// Intel, "New Instructions Supporting the Secure Hash Algorithm": the state is kept as the words
// ABEF and CDGH, and four rounds take four words of the message schedule.
[[gnu::target("sha,sse4.1")]] void one_block(__m128i& abef, __m128i& cdgh,
                                             const std::uint8_t* data) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abef_before = abef;
  const __m128i cdgh_before = cdgh;
  std::array<Words, 4> w;
  for (std::size_t i = 0; i < 4; ++i) w[i].four = _mm_shuffle_epi8(load(data + 16 * i), big_endian);
  for (std::size_t i = 0; i < 16; ++i) {
    const __m128i words = _mm_add_epi32(w[i % 4].four, load(&kRounds[4 * i]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    if (i >= 12) continue;
    const __m128i newest = w[(i + 3) % 4].four;
    const __m128i older = _mm_alignr_epi8(newest, w[(i + 2) % 4].four, 4);
    const __m128i oldest = _mm_sha256msg1_epu32(w[i % 4].four, w[(i + 1) % 4].four);
    const __m128i sum = _mm_add_epi32(oldest, older);
    w[i % 4].four = _mm_sha256msg2_epu32(sum, newest);
  }
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
}

}  // namespace

bool has_sha_extensions() {
  static const bool has = find_out();
  return has;
}

[[gnu::target("sha,sse4.1")]] void sha256_blocks(std::uint32_t* state, const std::uint8_t* data,
                                                 std::size_t blocks) {
  const __m128i cdab = _mm_shuffle_epi32(load(state), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; blocks > 0; --blocks, data += 64) one_block(abef, cdgh, data);
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  store(state, _mm_blend_epi16(feba, dchg, 0xf0));
  store(state + 4, _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace runner::trace

#else

namespace runner::trace {

bool has_sha_extensions() { return false; }
void sha256_blocks(std::uint32_t* /*state*/, const std::uint8_t* /*data*/, std::size_t /*blocks*/) {
}

}  // namespace runner::trace

#endif
