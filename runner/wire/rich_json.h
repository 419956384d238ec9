// Rich results and exceptions as E2B's code interpreter shows them. Pure; any thread.
//
// "text", "html", "markdown", "latex", "svg", "png", "jpeg", "pdf", "json" and "javascript" stand
// for the MIME types that notebooks know; what has another type stands under it in "data". Nothing
// stands twice: a chart is large.
#pragma once

#include <boost/json.hpp>

#include "runner/service.h"

namespace runner::wire {

boost::json::object rich_object(const Rich& rich);
boost::json::object raised_object(const Raised& raised);

}  // namespace runner::wire
