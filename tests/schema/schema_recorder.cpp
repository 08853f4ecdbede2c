#include "schema_recorder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>

namespace mirfak::schema {

namespace {

using Json = nlohmann::ordered_json;
using Kind = ReadValue::Kind;

// A number with a unit, as base/written_number.hpp reads it.
constexpr const char* kWrittenNumber = R"(^\$?[0-9.]+(e[+-]?[0-9]+)? ?[A-Za-z/]*$)";

// "nodes", "" (an item), "type" of "nodes[3].type".
std::vector<std::string> steps_of(const std::string& path) {
  std::vector<std::string> out;
  std::string step;
  for (const char c : path) {
    if (c == '.' || c == '[') {
      if (!step.empty()) out.push_back(step);
      step.clear();
      if (c == '[') out.emplace_back();
    } else if (c == ']') {
      step.clear();  // the number of the item
    } else {
      step += c;
    }
  }
  if (!step.empty()) out.push_back(step);
  return out;
}

Place::Key& key_of(Place& place, const std::string& name) {
  const auto [found, added] = place.keys.try_emplace(name);
  if (added) place.order.push_back(name);
  return found->second;
}

// Words that YAML reads as something else are no strings to an editor.
Kind written_as(const Value& value, Kind kind) {
  if (kind != Kind::word || value.quoted || value.scalar.empty()) return kind;
  if (value.scalar == "true" || value.scalar == "false") return Kind::truth;
  char* end = nullptr;
  std::strtod(value.scalar.c_str(), &end);
  return *end == '\0' ? Kind::number : kind;
}

}  // namespace

Place* Recorder::place_of(const Node& node) {
  if (node.where().file != document_) return nullptr;
  Place* at = &root_;
  std::string path;
  for (const std::string& step : steps_of(node.path())) {
    if (at->any_key) return nullptr;
    path += "." + step;
    if (step.empty()) {
      if (!at->items) at->items = std::make_unique<Place>();
      at = at->items.get();
    } else {
      at = key_of(*at, step).place.get();
    }
    // A format of its own, with a page of its own.
    if (path == ".training.framework" || path == ".cluster.nodes..type") at->any_key = true;
  }
  return at;
}

void Recorder::value(const Node& node, const ReadValue& read) {
  Place* place = place_of(node);
  if (place == nullptr) return;
  const Kind kind = written_as(node.value(), read.kind);
  if (read.kind == Kind::mapping) ++place->mappings;
  if (read.kind == Kind::word && read.choices.empty()) place->any_word = true;
  if (kind != read.kind) {  // any such number
    place->read[kind] = {kind, -1e300, 1e300};
    return;
  }
  const auto [found, added] = place->read.try_emplace(kind, read);
  if (added) return;
  found->second.minimum = std::min(found->second.minimum, read.minimum);
  found->second.maximum = std::max(found->second.maximum, read.maximum);
  for (const std::string& choice : read.choices) {
    auto& all = found->second.choices;
    if (std::find(all.begin(), all.end(), choice) == all.end()) all.push_back(choice);
  }
}

void Recorder::key(const Node& mapping, std::string_view key, bool required, bool nullable) {
  Place* place = place_of(mapping);
  if (place == nullptr || place->any_key) return;
  Place::Key& own = key_of(*place, std::string(key));
  own.required += required ? 1 : 0;
  own.nullable = own.nullable || nullable;
}

void Recorder::fallback(const Node& mapping, std::string_view key, const std::string& json) {
  if (json.find(document_) != std::string::npos) return;  // where the file stands
  Place* place = place_of(mapping);
  if (place != nullptr && !place->any_key) key_of(*place, std::string(key)).fallback = json;
}

void Recorder::any_key(const Node& mapping) {
  Place* place = place_of(mapping);
  if (place != nullptr) place->any_key = true;
}

void add_words_of(Place& root, const Value& document) {
  switch (document.kind) {
    case Value::Kind::mapping:
      if (!root.read.contains(Kind::mapping)) {  // kept for later: a scenario in a sweep
        root.read[Kind::mapping] = {Kind::mapping};
        root.any_key = true;
      }
      for (const Value::Field& field : document.fields) {
        const auto key = root.keys.find(field.key);
        if (key != root.keys.end()) add_words_of(*key->second.place, field.value);
      }
      break;
    case Value::Kind::sequence:
      if (root.read.empty() || !root.read.contains(Kind::list)) root.read[Kind::list] = {Kind::list};
      if (!root.items) root.items = std::make_unique<Place>();
      for (const Value& item : document.items) add_words_of(*root.items, item);
      break;
    case Value::Kind::scalar: {
      const Kind kind = written_as(document, Kind::word);
      const bool number = kind == Kind::number && root.read.contains(Kind::whole_number);
      if (number || (root.read.contains(kind) && (kind != Kind::word || root.any_word))) break;
      if (kind != Kind::word) {
        root.read[kind] = {kind, -1e300, 1e300};
      } else if (document.scalar.find("..") != std::string::npos) {
        root.read[kind] = {kind};
        root.any_word = true;
      } else {
        auto& choices = root.read.try_emplace(kind, ReadValue{kind}).first->second.choices;
        const bool known = std::find(choices.begin(), choices.end(), document.scalar) != choices.end();
        if (!known) choices.push_back(document.scalar);
      }
      break;
    }
    case Value::Kind::null:
      break;
  }
}

namespace {

void add_range(Json& out, const ReadValue& read) {
  constexpr double open = 9e15;  // what readers give as no limit at all
  if (read.minimum > -open) out["minimum"] = read.minimum;
  if (read.maximum < open) out["maximum"] = read.maximum;
}

class Writer {
 public:
  Writer(const Descriptions& descriptions, SchemaOf of) : descriptions_(descriptions), of_(of) {}

  Json mapping(const Place& place, const std::string& path) const {
    Json out = {{"type", "object"}};
    Json required = Json::array();
    for (const std::string& name : place.order) {
      const Place::Key& key = place.keys.at(name);
      out["properties"][name] = of_key(key, path.empty() ? name : path + "." + name);
      if (place.mappings > 0 && key.required >= place.mappings) required.push_back(name);
    }
    if (!required.empty() && !place.varies) out["required"] = required;
    if (!place.any_key && !place.keys.empty()) out["additionalProperties"] = false;
    return out;
  }

 private:
  Json of_key(const Place::Key& key, const std::string& path) const {
    Json out;
    const auto described = descriptions_.find(path);
    if (described != descriptions_.end()) out["description"] = described->second;
    if (!key.fallback.empty()) out["default"] = Json::parse(key.fallback);
    Json forms = alternatives(*key.place, path);
    if (forms.empty()) return out.is_null() ? Json::object() : out;
    if (key.nullable) forms.push_back({{"type", "null"}});
    if (forms.size() == 1) {
      out.update(forms.front());
    } else {
      out["anyOf"] = forms;
    }
    return out;
  }

  Json alternatives(const Place& place, const std::string& path) const {
    Json out = Json::array();
    for (const auto& [kind, read] : place.read) {
      switch (kind) {
        case Kind::word:
          out.push_back(place.any_word ? Json{{"type", "string"}} : Json{{"enum", read.choices}});
          break;
        case Kind::truth:
          out.push_back({{"type", "boolean"}});
          break;
        case Kind::number:
          out.push_back(number("number"));
          add_range(out.back(), read);
          break;
        case Kind::whole_number:
          if (place.read.contains(Kind::number)) break;
          out.push_back(number("integer"));
          add_range(out.back(), read);
          break;
        case Kind::list:
          out.push_back({{"type", "array"}});
          if (place.items) {
            const Json items = alternatives(*place.items, path + "[]");
            if (items.size() == 1) out.back()["items"] = items.front();
            if (items.size() > 1) out.back()["items"] = {{"anyOf", items}};
          }
          break;
        case Kind::mapping:
          out.push_back(mapping(place, path));
          break;
      }
    }
    return out;
  }

  // In files, a number may have a unit.
  Json number(const std::string& type) const {
    return of_ == SchemaOf::file ? Json{{"$ref", "#/$defs/" + type}} : Json{{"type", type}};
  }

  const Descriptions& descriptions_;
  SchemaOf of_;
};

Json definition_of(const std::string& type) {
  return {{"type", Json::array({type, "string"})}, {"pattern", kWrittenNumber}};
}

void walk(const Place& place, const std::string& path,
          const std::function<void(const std::string&, const Place&)>& visit) {
  visit(path, place);
  if (place.items) walk(*place.items, path + "[]", visit);
  for (const auto& [name, key] : place.keys) walk(*key.place, path.empty() ? name : path + "." + name, visit);
}

}  // namespace

Json json_schema(const Place& root, const std::string& title, const Descriptions& descriptions, SchemaOf of) {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  out.update(Writer(descriptions, of).mapping(root, ""));
  if (of == SchemaOf::file) {
    out["$defs"] = {{"number", definition_of("number")}, {"integer", definition_of("integer")}};
  }
  return out;
}

std::vector<std::string> untyped(const Place& root) {
  std::vector<std::string> out;
  walk(root, "", [&](const std::string& path, const Place& place) {
    if (!path.empty() && place.read.empty()) out.push_back(path);
  });
  return out;
}

std::vector<std::string> unknown(const Place& root, const Descriptions& descriptions) {
  std::set<std::string> known;
  walk(root, "", [&](const std::string& path, const Place&) { known.insert(path); });
  std::vector<std::string> out;
  for (const auto& [key, sentence] : descriptions) {
    if (!known.contains(key)) out.push_back(key);
  }
  return out;
}

}  // namespace mirfak::schema
