#include "import/yaml_settings.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

std::string replaced(const std::string& text, const std::map<std::string, std::string>& environment) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = text.find("${", at);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) break;
    out += text.substr(at, open - at);
    const std::string inside = text.substr(open + 2, close - open - 2);
    const std::size_t colon = inside.find(':');
    const auto said = environment.find(inside.substr(0, colon));
    if (said != environment.end()) {
      out += said->second;
    } else if (colon != std::string::npos && inside.find(':', colon + 1) != colon + 1) {
      out += inside.substr(colon + (inside.compare(colon, 2, ":-") == 0 ? 2 : 1));
    } else {
      out += text.substr(open, close + 1 - open);
    }
    at = close + 1;
  }
  return out + text.substr(std::min(at, text.size()));
}

void collect_missing(const Value& value, std::vector<std::string>& out) {
  for (const Value& item : value.items) collect_missing(item, out);
  for (const Value::Field& field : value.fields) collect_missing(field.value, out);
  std::size_t at = 0;
  while ((at = value.scalar.find("${", at)) != std::string::npos) {
    const std::size_t close = value.scalar.find('}', at);
    if (close == std::string::npos) return;
    out.push_back(value.scalar.substr(at + 2, close - at - 2));
    at = close;
  }
}

Setting setting_of(const Value::Field& field, const std::function<std::string(std::string_view)>& name_of) {
  const Value& value = field.value;
  Setting setting;
  setting.name = name_of(field.key);
  setting.where = value.key_where;
  setting.text = fmt::format("{}: {}", field.key, emit_flow_yaml(value));
  setting.missing = missing_names(value);
  // A flag that is true becomes an option without a value.
  const bool yes =
      value.kind == Value::Kind::scalar && !value.quoted && (value.scalar == "true" || value.scalar == "True");
  if (!yes) setting.value = value;
  if (value.kind == Value::Kind::null) setting.value = scalar_value("null", setting.where);
  return setting;
}

template <typename Parse>
std::optional<Value> mapping_by(const Parse& parse) {
  try {
    Value root = parse();
    if (root.kind == Value::Kind::mapping) return root;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
  }
  return std::nullopt;
}

}  // namespace

bool mentions(const ImportFile& file, std::initializer_list<std::string_view> texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](std::string_view text) { return file.text.find(text) != std::string::npos; });
}

bool has_key_of(const Value& mapping, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return mapping.find(key) != nullptr; });
}

const Value* mapping_under(const Value& mapping, std::string_view key) {
  const Value* found = mapping.kind == Value::Kind::mapping ? mapping.find(key) : nullptr;
  return found != nullptr && found->kind == Value::Kind::mapping ? found : nullptr;
}

std::optional<Value> mapping_mentioning(const ImportFile& file, std::initializer_list<std::string_view> texts) {
  return mentions(file, texts) ? mapping_by([&] { return parse_yaml(file.text, file.name); }) : std::nullopt;
}

std::optional<Value> mapping_in(const ImportFile& file) {
  return mapping_by([&] { return parse_foreign_yaml(file.text, file.name); });
}

std::optional<Value> configuration_in(const ImportFile& file) {
  const bool empty = file.text.find_first_not_of(" \t\r\n") == std::string::npos;
  return empty || file.text.starts_with("#!") ? std::nullopt : mapping_in(file);
}

void replace_variables(Value& value, const std::map<std::string, std::string>& environment) {
  if (value.kind == Value::Kind::scalar) value.scalar = replaced(value.scalar, environment);
  for (Value& item : value.items) replace_variables(item, environment);
  for (Value::Field& field : value.fields) replace_variables(field.value, environment);
}

std::vector<std::string> missing_names(const Value& value) {
  std::vector<std::string> out;
  collect_missing(value, out);
  return out;
}

std::vector<Setting> settings_of_mapping(const Value& mapping,
                                         const std::function<std::string(std::string_view)>& name_of) {
  std::vector<Setting> out;
  for (const Value::Field& field : mapping.fields) out.push_back(setting_of(field, name_of));
  return out;
}

}  // namespace mirfak
