#pragma once

#include "base/error_statistics.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace mirfak {

// Returns the value as JSON, or null if there is no value.
template <typename T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

inline nlohmann::ordered_json statistics_json(const ErrorStatistics& errors) {
  return {{"n", errors.count}, {"mape", errors.mape}, {"median_ape", errors.median_ape}, {"p90_ape", errors.p90_ape}};
}

}  // namespace mirfak
