#pragma once

#include "capture/capture_simulation.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Returns the timeline of captured ranks (pass_timeline.hpp), a row for each. The upper lane has the kernels of the
// stream that computes most, joined by module and phase: a box goes on while the kernels are those of one module, with
// gaps of less than a thousandth of the step. Modules are as deep in the program as kMostTimelineBoxes allow. The lower
// lane has communication and the kernels of all other streams.
nlohmann::ordered_json captured_timeline(const CaptureSimulation& simulation);

}  // namespace mirfak
