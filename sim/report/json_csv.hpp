#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Objects of JSON as a table in CSV: a row for each, and a column for each key, in the order in which keys first
// appear. Keys of objects inside have the path of both, "activities.gemm_s"; lists are left out, as is what is in them.
// null and keys that an object does not have are empty. So a table has the names and the numbers of the JSON, to the
// last digit. `rows`: an array of objects; one object is one row.
std::string csv_of_json(const nlohmann::ordered_json& rows);

}  // namespace mirfak
