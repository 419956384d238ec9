// The one translation unit that compiles what Boost keeps in headers: Asio, Process v2 and JSON
// have no library of their own here, and compiling them once keeps the others quick to build.
// boost_process.h must come before Process v2's own sources.
// clang-format off
#include "runner/session/boost_process.h"

#include <boost/asio/impl/src.hpp>
#include <boost/json/src.hpp>
#include <boost/process/v2/src.hpp>
// clang-format on
