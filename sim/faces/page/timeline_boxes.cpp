#include "page/timeline_boxes.hpp"

#include <algorithm>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json timeline_box(std::size_t name, Picoseconds start, Picoseconds end, std::int32_t microbatch) {
  return Json::array({name, start / kBoxUnit, (end - start) / kBoxUnit, microbatch});
}

Json empty_timeline(Picoseconds end) {
  return {{"unit_s", 1e-9},         {"end", end / kBoxUnit}, {"kinds", Json::array()},
          {"names", Json::array()}, {"rows", Json::array()}, {"left_out", Json::array()}};
}

void add_kinds(Json& timeline, std::span<const std::pair<std::string_view, std::string_view>> words) {
  for (const auto& [kind, text] : words) {
    const auto is_of_kind = [of = std::string(kind)](const Json& name) { return name["kind"] == of; };
    if (std::any_of(timeline["names"].begin(), timeline["names"].end(), is_of_kind)) {
      timeline["kinds"].push_back({text, kind});
    }
  }
}

}  // namespace mirfak
