// Where a payload's input comes from and where its output goes.
#pragma once

namespace runner {

enum class InputFrom { kCaller, kNothing };
enum class OutputTo { kCaller, kMemory };

}  // namespace runner
