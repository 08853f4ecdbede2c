#pragma once

#include "validation/run_mapping.hpp"
#include "validation/run_reading.hpp"

#include <optional>
#include <string>

namespace mirfak {

// What a name in a condition or a template stands for: the cell of that column, that key, or what is computed: `data`
// (data-parallel ranks) and `replicas` (those times context). nullopt: nothing.
std::optional<std::string> meaning_of(const RunReading& reading, const std::string& name);

// Whether all predicates hold for what has been read so far.
bool holds(const Condition& condition, const RunReading& reading);

}  // namespace mirfak
