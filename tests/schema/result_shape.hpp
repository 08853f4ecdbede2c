#pragma once

#include "schema_recorder.hpp"

#include <set>

namespace mirfak::schema {

// Adds what one result has: of every place its kinds of values, which keys its objects have, and which of them are
// null. `open`: places ("strategies[].strategy") whose keys are a scenario's or names of the user's.
void add_result(Place& place, const nlohmann::ordered_json& result, const std::set<std::string>& open,
                const std::string& path = {});

}  // namespace mirfak::schema
