#include "base/document_json.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns a word of a scenario as the value that it stands for.
Json scalar_json(const Value& value) {
  const std::string& text = value.scalar;
  if (value.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  const char* const end = text.data() + text.size();
  std::int64_t number = 0;
  const auto [behind, fault] = std::from_chars(text.data(), end, number);
  if (fault == std::errc{} && behind == end) return number;
  double share = 0;
  const auto [last, error] = std::from_chars(text.data(), end, share);
  if (error == std::errc{} && last == end && std::isfinite(share)) return share;
  return text;
}

}  // namespace

nlohmann::ordered_json document_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::scalar:
      return scalar_json(value);
    case Value::Kind::sequence: {
      Json out = Json::array();
      for (const Value& item : value.items) out.push_back(document_json(item));
      return out;
    }
    case Value::Kind::mapping:
      break;
  }
  // The keys of a document differ, so that no key is looked for among those before it.
  Json out = Json::object();
  auto& members = out.get_ref<Json::object_t&>();
  members.reserve(value.fields.size());
  for (const Value::Field& field : value.fields) members.emplace_back(field.key, document_json(field.value));
  return out;
}

}  // namespace mirfak
