// The one translation unit that compiles what Boost keeps in headers: Asio, Process v2 and JSON
// have no library of their own here, and compiling them once keeps the others quick to build.
#include <boost/asio/impl/src.hpp>
#include <boost/json/src.hpp>
#include <boost/process/v2/src.hpp>
