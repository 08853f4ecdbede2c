#include "result_shape.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace mirfak::schema {

namespace {

using Json = nlohmann::ordered_json;
using Kind = ReadValue::Kind;

constexpr double kOpen = 1e300;  // no limit
// Names say the unit: what is null in every example is a number all the same.
constexpr std::array<std::string_view, 7> kUnits = {"_s", "_usd", "_kg", "_j", "_w", "_bytes", "_iterations"};
// Lists of sentences, and empty in most results.
const std::set<std::string_view> kSentences = {"notes", "left_out"};

void add_kind(Place& place, Kind kind) {
  if (kind == Kind::whole_number && place.read.contains(Kind::number)) return;
  if (kind == Kind::number) place.read.erase(Kind::whole_number);
  place.read[kind] = {kind, -kOpen, kOpen};
}

void add_object(Place& place, const Json& result, const std::set<std::string>& open, const std::string& path) {
  add_kind(place, Kind::mapping);
  ++place.mappings;
  place.any_key = place.any_key || open.contains(path);
  if (place.any_key) return;
  for (const auto& item : result.items()) {
    const auto [found, added] = place.keys.try_emplace(item.key());
    if (added) place.order.push_back(item.key());
    ++found->second.required;
    Place& inside = *found->second.place;
    if (kSentences.contains(item.key())) add_result(inside, Json::array({""}), open);
    if (item.value().is_null()) {
      found->second.nullable = true;
      const auto of_name = [&](std::string_view unit) { return item.key().ends_with(unit); };
      if (inside.read.empty() && std::any_of(kUnits.begin(), kUnits.end(), of_name)) add_kind(inside, Kind::number);
    } else {
      add_result(inside, item.value(), open, path.empty() ? item.key() : path + "." + item.key());
    }
  }
}

}  // namespace

void add_result(Place& place, const Json& result, const std::set<std::string>& open, const std::string& path) {
  if (result.is_object()) {
    add_object(place, result, open, path);
  } else if (result.is_array()) {
    add_kind(place, Kind::list);
    if (!place.items) place.items = std::make_unique<Place>();
    for (const Json& item : result) add_result(*place.items, item, open, path + "[]");
  } else if (result.is_string()) {
    add_kind(place, Kind::word);
    place.any_word = true;
  } else if (result.is_boolean()) {
    add_kind(place, Kind::truth);
  } else {
    add_kind(place, result.is_number_float() ? Kind::number : Kind::whole_number);
  }
}

}  // namespace mirfak::schema
