#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// The units that the script of pages shows quantities by (base/units.hpp): their `names`, `times`, the `words` with
// which keys end, and the `labels` of figures.
nlohmann::ordered_json units_json();

}  // namespace mirfak
