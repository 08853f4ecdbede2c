#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// What the script of pages shows quantities by (base/units.hpp): `names` of units, `times`, the `words` with which keys
// end, and the `labels` of figures.
nlohmann::ordered_json units_json();

}  // namespace mirfak
