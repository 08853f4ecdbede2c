#pragma once

#include "base/error_statistics.hpp"
#include "base/figure.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <span>

namespace mirfak {

// Returns the value as JSON, or null if there is no value.
template <typename T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

inline nlohmann::ordered_json statistics_json(const ErrorStatistics& errors) {
  return {{"n", errors.count}, {"mape", errors.mape}, {"median_ape", errors.median_ape}, {"p90_ape", errors.p90_ape}};
}

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
