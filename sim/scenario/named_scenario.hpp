#pragma once

#include "base/document.hpp"

namespace mirfak {

// How a file of sweeps or of jobs says which scenario it means: a mapping that stands in it (`file`), or the path of a
// scenario beside it. Error(input) where there is no such file.
Document scenario_named_by(const Document& file, const Node& scenario);

// ... and what differs in it: a mapping of keys ("strategy.tensor") to values, which keep their places.
void set_keys(Document& scenario, const Node& keys);

}  // namespace mirfak
