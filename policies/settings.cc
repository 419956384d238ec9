#include "policies/settings.h"

#include <algorithm>

#include "policies/file.h"
#include "policies/toml_reader.h"

namespace policies {
namespace {

// Throws Error.
class Flattener {
 public:
  explicit Flattener(const TomlReader& reader) : reader_(reader) {}

  std::vector<Setting> all() {
    add(reader_.root(), "");
    return std::move(settings_);
  }

 private:
  void add(const toml::table& table, const std::string& above) {
    for (const auto& [key, node] : table) {
      const std::string path =
          above.empty() ? std::string(key.str()) : above + '.' + std::string(key.str());
      if (const toml::table* inner = node.as_table()) {
        add(*inner, path);
        continue;
      }
      Setting setting = value(node, path);
      setting.place = reader_.place(key.source()) + ": " + path;
      setting.name = path;
      std::replace(setting.name.begin(), setting.name.end(), '.', '-');
      std::replace(setting.name.begin(), setting.name.end(), '_', '-');
      settings_.push_back(std::move(setting));
    }
  }

  Setting value(const toml::node& node, const std::string& path) {
    Setting setting;
    if (node.is_boolean()) {
      setting.kind = Setting::Kind::kSwitch;
      setting.values = {reader_.boolean(node, path) ? "true" : "false"};
    } else if (node.is_array()) {
      setting.kind = Setting::Kind::kList;
      setting.values = reader_.strings(node, path);
    } else if (node.is_integer()) {
      setting.values = {std::to_string(reader_.integer(node, path))};
    } else {
      setting.values = {reader_.string(node, path)};
    }
    return setting;
  }

  const TomlReader& reader_;
  std::vector<Setting> settings_;
};

}  // namespace

Result<std::vector<Setting>> read_settings(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  try {
    check_shape(*text, path);
    const TomlReader reader(*text, path, 0);
    return Flattener(reader).all();
  } catch (Error& error) {
    return tl::unexpected<Error>(std::move(error));
  }
}

}  // namespace policies
