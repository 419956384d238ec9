#include "runner/wire/server_json.h"

#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {
namespace {

json::object limits_object(const policies::Limits& limits) {
  return {{"memory_bytes", limits.memory.value},      {"cpu_time_ms", limits.cpu_time.count()},
          {"wall_time_ms", limits.wall_time.count()}, {"processes", limits.processes},
          {"open_files", limits.open_files},          {"file_size_bytes", limits.file_size.value},
          {"output_bytes", limits.output.value}};
}

json::object policy_object(const policies::Policy& policy, const std::string& default_policy) {
  const bool restricted = policy.mode == policies::Mode::kRestricted;
  json::array languages;
  for (const auto& entry : policy.interpreters) languages.push_back(json::value(entry.first));
  json::array weakenings;
  for (const policies::Unsafe& weak : policy.unsafe) {
    weakenings.push_back(json::object{{"key", weak.key}, {"reason", weak.reason}});
  }
  const auto idle = std::chrono::duration_cast<std::chrono::minutes>(policy.session.idle);
  return {{"id", policy.name},
          {"object", "policy"},
          {"why", policy.why},
          {"mode", restricted ? "restricted" : "jail"},
          {"is_default", policy.name == default_policy},
          {"languages", std::move(languages)},
          {"limits", restricted ? json::value(nullptr) : limits_object(policy.limits)},
          {"workdir_bytes", policy.files.workdir.size.value},
          {"idle_minutes", idle.count()},
          {"network", "none"},
          {"weakenings", std::move(weakenings)}};
}

json::object preload_object(const Preload& preload) {
  const char* state = preload.state == Preload::State::kReady    ? "ready"
                      : preload.state == Preload::State::kFailed ? "failed"
                                                                 : "starting";
  json::array wanted;
  for (const std::string& module : preload.wanted) wanted.push_back(json::value(module));
  json::array missing;
  for (const Preload::Missing& one : preload.missing)
    missing.push_back(
        json::object{{"module", to_utf8(one.module)}, {"reason", to_utf8(one.reason)}});
  return {{"policy", preload.policy},
          {"language", preload.language},
          {"state", state},
          {"wanted", std::move(wanted)},
          {"missing", std::move(missing)}};
}

}  // namespace

std::string policies_json(std::span<const policies::Policy> policies,
                          const std::string& default_policy) {
  json::array data;
  for (const policies::Policy& policy : policies) {
    data.push_back(policy_object(policy, default_policy));
  }
  return to_ascii(json::object{{"object", "list"}, {"data", std::move(data)}});
}

std::string capabilities_json(const Capabilities& capabilities, std::span<const Preload> preloads) {
  json::array preload;
  for (const Preload& one : preloads) preload.push_back(preload_object(one));
  json::array languages;
  for (const std::string& language : capabilities.languages) {
    languages.push_back(json::value(language));
  }
  json::array host;
  for (const Capability& one : capabilities.host) {
    host.push_back(json::object{
        {"name", one.name}, {"here", one.here}, {"found", one.found}, {"lost", one.lost}});
  }
  return to_ascii(json::object{{"object", "capabilities"},
                               {"version", capabilities.version},
                               {"default_policy", capabilities.default_policy},
                               {"languages", std::move(languages)},
                               {"max_file_bytes", capabilities.max_file_bytes},
                               {"preload", std::move(preload)},
                               {"host", std::move(host)}});
}

}  // namespace runner::wire
