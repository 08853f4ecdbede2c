#pragma once

#include "base/figure.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>

namespace mirfak {

// Adds the figures that are asked for, each by its key; null if it is not known.
inline void add_figures(std::span<const FigureValue> values, nlohmann::ordered_json& out) {
  for (const FigureValue& value : values) {
    if (!value.asked) continue;
    nlohmann::ordered_json& slot = out[value.key()];
    if (!value.known) continue;
    if (value.figure->truth) {
      slot = value.number != 0;
    } else if (value.figure->whole) {
      slot = static_cast<std::int64_t>(value.number);
    } else {
      slot = value.number;
    }
  }
}

}  // namespace mirfak
