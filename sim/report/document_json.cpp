#include "report/document_json.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// A word of a scenario as what it means there.
Json scalar_json(const Value& value) {
  const std::string& text = value.scalar;
  if (value.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') return number;
  const double share = std::strtod(text.c_str(), &end);
  if (!text.empty() && text.front() >= '0' && text.front() <= '9' && *end == '\0') return share;
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
  Json out = Json::object();
  for (const Value::Field& field : value.fields) out[field.key] = document_json(field.value);
  return out;
}

}  // namespace mirfak
