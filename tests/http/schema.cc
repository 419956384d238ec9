// As much of JSON Schema as the API's description uses.
#include <algorithm>

#include "runner/wire/openapi.h"
#include "tests/http/server_under_test.h"

namespace http_test {
namespace {

namespace json = boost::json;

const json::object& schemas() {
  static const json::value document = json::parse(runner::wire::openapi_json());
  return document.at("components").at("schemas").as_object();
}

bool is_type(const json::value& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_bool();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

std::string check(const json::value& value, const json::object& schema);

std::string check_type(const json::value& value, const json::value& type) {
  bool fits = false;
  if (type.is_string()) fits = is_type(value, std::string(type.as_string()));
  if (type.is_array()) {
    for (const json::value& one : type.as_array()) {
      fits = fits || is_type(value, std::string(one.as_string()));
    }
  }
  return fits ? "" : json::serialize(value) + " is no " + json::serialize(type);
}

std::string check_object(const json::object& object, const json::object& schema) {
  if (const json::value* required = schema.if_contains("required")) {
    for (const json::value& name : required->as_array()) {
      if (!object.contains(name.as_string())) return "missing " + json::serialize(name);
    }
  }
  const json::value* properties = schema.if_contains("properties");
  if (properties == nullptr) return "";
  for (const auto& member : object) {
    const json::value* known = properties->as_object().if_contains(member.key());
    if (known == nullptr) return "unknown member " + std::string(member.key());
    const std::string wrong = check(member.value(), known->as_object());
    if (!wrong.empty()) return std::string(member.key()) + ": " + wrong;
  }
  return "";
}

std::string check(const json::value& value, const json::object& schema) {
  if (const json::value* ref = schema.if_contains("$ref")) {
    const std::string name(ref->as_string());
    return check(value, schemas().at(name.substr(name.rfind('/') + 1)).as_object());
  }
  if (const json::value* choices = schema.if_contains("oneOf")) {
    return std::any_of(
               choices->as_array().begin(), choices->as_array().end(),
               [&](const json::value& one) { return check(value, one.as_object()).empty(); })
               ? ""
               : json::serialize(value) + " is none of the choices";
  }
  if (const json::value* type = schema.if_contains("type")) {
    if (std::string wrong = check_type(value, *type); !wrong.empty()) return wrong;
  }
  if (const json::value* only = schema.if_contains("const"); only && *only != value) {
    return json::serialize(value) + " is not " + json::serialize(*only);
  }
  if (const json::value* choices = schema.if_contains("enum")) {
    const json::array& all = choices->as_array();
    if (std::find(all.begin(), all.end(), value) == all.end()) {
      return json::serialize(value) + " is not among " + json::serialize(all);
    }
  }
  if (const json::value* items = schema.if_contains("items"); items && value.is_array()) {
    for (const json::value& one : value.as_array()) {
      if (std::string wrong = check(one, items->as_object()); !wrong.empty()) return wrong;
    }
  }
  return value.is_object() ? check_object(value.as_object(), schema) : "";
}

}  // namespace

std::string mismatch(const json::value& value, const std::string& schema) {
  return check(value, schemas().at(schema).as_object());
}

}  // namespace http_test
