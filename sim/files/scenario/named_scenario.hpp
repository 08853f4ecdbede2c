#pragma once

#include "base/document.hpp"

namespace mirfak {

// Returns the scenario that a file of sweeps or of jobs names: a mapping in the file itself (`file`), or the path of a
// scenario, relative to that file's folder. Error(input) if no such file exists.
Document scenario_named_by(const Document& file, const Node& scenario);

// Sets keys of a scenario: `keys` maps keys ("strategy.tensor") to values, which keep their places.
void set_keys(Document& scenario, const Node& keys);

}  // namespace mirfak
