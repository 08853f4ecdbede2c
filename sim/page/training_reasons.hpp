#pragma once

#include "report/train_report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// What stands behind the figures of a whole training, as explanation_of() says of an iteration (figure_reasons.hpp):
// `figures` by the keys of train_json(), with "lost." in front of what takes lost time; `sections` are those of its
// iteration with the full batch, which is simulated for them.
nlohmann::ordered_json training_explanation(const TrainReport& report);

}  // namespace mirfak
