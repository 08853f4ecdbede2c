#pragma once

#include "validation/run_mapping.hpp"
#include "validation/run_reading.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Returns the value of a name in a condition or a template: the cell of that column, that key, or a computed count:
// `data` (data-parallel ranks) or `replicas` (data-parallel ranks times context). nullopt: none.
std::optional<std::string> meaning_of(const RunReading& reading, const std::string& name);

// True if all predicates hold for the values that have been read so far.
bool holds(const Condition& condition, const RunReading& reading);

}  // namespace mirfak
