// What a client may ask of an execution. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "runner/service.h"

namespace runner::wire {

// What becomes of the execution when its client goes away before the end. kInterrupt takes the
// closing of the client's sending side for going away: over TCP the two look the same.
enum class OnDisconnect : std::uint8_t { kContinue, kInterrupt };

struct ExecuteRequest {
  ExecuteWish wish;
  std::optional<bool> stream;  // absent: as the Accept header says, else no
  OnDisconnect on_disconnect = OnDisconnect::kContinue;
};

// {code, language?, timeout_s?, stdin?, stream?, on_disconnect?: "continue" | "interrupt"}.
// kInvalid.
Answer<ExecuteRequest> execute_request(std::string_view body);

struct OnceRequest {
  OnceWish wish;
  std::optional<bool> stream;
  OnDisconnect on_disconnect = OnDisconnect::kContinue;
};

// The same, and {policy?, memory_limit?, files?: [{name, content | content_base64}]}. kInvalid.
Answer<OnceRequest> once_request(std::string_view body);

}  // namespace runner::wire
