#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Returns objects of JSON as a CSV table: a row for each object and a column for each key, in the order in which keys
// first appear. The column of a nested key has its path, "activities.gemm_s". Lists and their contents are left out.
// null, and keys that an object does not have, are empty. The table has the names and the numbers of the JSON, to the
// last digit. `rows`: an array of objects; one object is one row.
std::string csv_of_json(const nlohmann::ordered_json& rows);

}  // namespace mirfak
