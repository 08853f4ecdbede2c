#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace mirfak {

// Returns the value as JSON, or null if there is no value.
template <typename T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace mirfak
