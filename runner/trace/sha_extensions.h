// SHA-256's inner loop by the processor's own instructions, where it has them: six times as fast.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace runner::trace {

bool has_sha_extensions();

// Works `blocks` blocks of 64 bytes into the eight words of the state. has_sha_extensions() only.
void sha256_blocks(std::uint32_t* state, const std::uint8_t* data, std::size_t blocks);

}  // namespace runner::trace
