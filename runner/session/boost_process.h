// Boost.Process v2 on std::filesystem. Boost 1.81's headers then use a few of Boost's own names
// (boost::optional, asio::detail::throw_error ...) without including them, so those go first;
// include this instead of <boost/process/v2/...>.
#pragma once

// clang-format off
#include <boost/asio/detail/throw_error.hpp>
#include <boost/optional.hpp>
#include <boost/type_traits/decay.hpp>
#include <boost/type_traits/is_constructible.hpp>
#include <boost/type_traits/remove_pointer.hpp>

#include <boost/process/v2/default_launcher.hpp>
#include <boost/process/v2/process.hpp>
// clang-format on
