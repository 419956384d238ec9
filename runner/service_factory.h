// Makes the service that `serve` opens to the world. Apart from service.h, so that adapters need
// not know what a service is made of. Main thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "runner/metrics.h"
#include "runner/service.h"
#include "runner/session/home.h"
#include "runner/trace/trace.h"

namespace runner {

struct ServiceOptions {
  std::string default_policy = "standard";  // of containers that name none
  Metrics* metrics = nullptr;               // where to count; may be null; outlives the service
  // Each time the libraries of a policy have been imported, or could not be. May be empty.
  std::function<void(const Preload&)> preloaded = {};
  trace::Trace* trace = nullptr;  // where it is written down; likewise
};

// `loop` outlives the service and runs its callbacks. What is missing is told by the first calls,
// as kUnavailable.
std::unique_ptr<Service> make_service(boost::asio::io_context& loop, const Home& home,
                                      const ServiceOptions& options);

}  // namespace runner
