#include "import/hydra_command.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/interpolation.hpp"
#include "import/option_reader.hpp"
#include "import/option_words.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

Value* field_named(Value& mapping, std::string_view key) {
  const auto found = std::find_if(mapping.fields.begin(), mapping.fields.end(),
                                  [&](const Value::Field& field) { return field.key == key; });
  return found == mapping.fields.end() ? nullptr : &found->value;
}

// Sets the value at a path of keys joined by dots; what stands in its way is replaced by a mapping.
void set_at(Value& root, std::string_view path, Value value) {
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  if (dot == std::string_view::npos) return set_field(root, key, std::move(value));
  const Value* inner = root.find(key);
  if (inner == nullptr || inner->kind != Value::Kind::mapping) {
    Value mapping;
    mapping.kind = Value::Kind::mapping;
    mapping.where = value.where;
    set_field(root, key, std::move(mapping));
  }
  set_at(*field_named(root, key), path.substr(dot + 1), std::move(value));
}

bool remove_at(Value& root, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  if (dot == std::string_view::npos) {
    return std::erase_if(root.fields, [&](const Value::Field& field) { return field.key == key; }) > 0;
  }
  Value* inner = field_named(root, key);
  return inner != nullptr && remove_at(*inner, path.substr(dot + 1));
}

// Gives settings that the command states its words.
void mark_changes(std::vector<Setting>& settings, const Setting& change) {
  for (Setting& setting : settings) {
    if (setting.name != change.name && !setting.name.starts_with(change.name + ".")) continue;
    setting.where = change.where;
    setting.text = change.text;
    setting.missing.insert(setting.missing.end(), change.missing.begin(), change.missing.end());
  }
}

}  // namespace

const ImportFile* HydraCommand::file(std::span<const ImportFile> files) const {
  const Setting* named = last_of(options, "config_name");
  if (named == nullptr || named->value.kind != Value::Kind::scalar) return nullptr;
  const std::string name = named->value.scalar;
  return file_named(files, name.ends_with(".yaml") ? name : name + ".yaml");
}

HydraCommand hydra_command(std::span<const ArgumentWord> words) {
  HydraCommand out;
  std::vector<ArgumentWord> options;
  for (const ArgumentWord& word : words) {
    const bool change = !word.text.starts_with('-') && word.text.find('=') != std::string::npos;
    if (word.text.starts_with('-') || (!change && !options.empty() && !word.text.starts_with('~'))) {
      options.push_back(word);
    } else if (change || word.text.starts_with('~')) {
      out.changes.push_back(word);
    } else if (!word.text.empty()) {
      fail_input(word.where, fmt::format("expected KEY=VALUE or ~KEY, found '{}'", excerpt(word.text)));
    }
  }
  out.options = settings_of_python(options);
  return out;
}

std::vector<Setting> changed_settings(const HydraCommand& command, const ImportFile* file,
                                      const ImportContext& context) {
  Value root;
  root.kind = Value::Kind::mapping;
  if (file != nullptr) root = parse_foreign_yaml(file->text, file->name);
  std::vector<Setting> changes;
  for (const ArgumentWord& word : command.changes) {
    if (!word.text.starts_with('~')) {
      changes.push_back(setting_of_change(word));
      set_at(root, changes.back().name, changes.back().value);
    } else if (!remove_at(root, std::string_view(word.text).substr(1, word.text.find('=') - 1))) {
      fail_input(word.where, fmt::format("{}: the configuration has no such key", excerpt(word.text)));
    }
  }
  fill_interpolations(root, context.environment);
  std::vector<Setting> out = settings_of(root);
  for (Setting& setting : out) setting.missing = missing_names(setting.value);
  for (const Setting& change : changes) mark_changes(out, change);
  return out;
}

}  // namespace mirfak
