// Whether the programs under test carry AddressSanitizer and UBSan. Those have memory of their own,
// read /proc at their start and need a pipe to check a pointer: what a test says of memory or of a
// host without such things holds for the plain build, which runs the same test.
#pragma once

namespace support {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace support
