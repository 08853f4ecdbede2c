#pragma once

#include "engine/timeline.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

// Parts of which the timelines of pages consist (pass_timeline.hpp).

// Times of boxes are multiples of a nanosecond.
inline constexpr Picoseconds kBoxUnit = 1000;

// Numbers names in the order in which they are first used.
class BoxNames {
 public:
  std::size_t index_of(const std::string& text, const std::string& kind) {
    const auto [at, is_new] = known_.emplace(std::pair(text, kind), known_.size());
    if (is_new) names_.push_back({{"text", text}, {"kind", kind}});
    return at->second;
  }
  const nlohmann::ordered_json& json() const { return names_; }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> known_;
  nlohmann::ordered_json names_ = nlohmann::ordered_json::array();
};

nlohmann::ordered_json timeline_box(std::size_t name, Picoseconds start, Picoseconds end, std::int32_t microbatch);

// Returns a timeline without rows that ends at `end`.
nlohmann::ordered_json empty_timeline(Picoseconds end);

// Adds to `kinds` of the timeline those kinds that its names have. `words`: pairs of a kind and its words.
void add_kinds(nlohmann::ordered_json& timeline, std::span<const std::pair<std::string_view, std::string_view>> words);

}  // namespace mirfak
