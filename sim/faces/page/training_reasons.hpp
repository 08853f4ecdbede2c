#pragma once

#include "report/train_report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Returns the explanation of the figures of a whole training, as explanation_of() does for an iteration
// (figure_reasons.hpp). `figures` has the keys of train_json(), with "lost." in front of the parts of lost time.
// `sections` are those of an iteration with the full batch, which is simulated for them.
nlohmann::ordered_json training_explanation(const TrainReport& report);

}  // namespace mirfak
