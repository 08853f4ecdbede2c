#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Returns the units in which the script of pages shows quantities (base/units.hpp): `names`, `times`, `words` with
// which keys end, and `labels` of figures.
nlohmann::ordered_json units_json();

}  // namespace mirfak
