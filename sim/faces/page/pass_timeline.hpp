#pragma once

#include "energy/frontier.hpp"
#include "simulation/iteration.hpp"
#include "training/prediction.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Highest numbers of boxes and rows that a timeline draws. `left_out` names the parts that are not drawn.
inline constexpr std::size_t kMostTimelineBoxes = 16000;
inline constexpr std::size_t kMostTimelineRows = 64;

// Keys of the timelines below, as JSON for the page: `unit_s`, `end` (in units), `kinds` (a list of [words, kind]),
// `names` (a list of `text` and `kind`), `rows` (a list of `label` and `lanes`, each a list of boxes [name, start,
// duration, microbatch or -1]), `left_out` (sentences).

// Returns the passes and the communication of one GPU of each stage; with mixed replicas, of each class of replicas
// too.
nlohmann::ordered_json pass_timeline(const Simulation& simulation);

// Returns the run of a training that ends at the median, as one row. The fourth number of a box is an index into
// `causes`, or -1.
nlohmann::ordered_json run_timeline(const TrainingPrediction& prediction);

// Returns passes at the clocks of a plan. The fifth number of a box is its clock in MHz. Further keys: `lowest_mhz`,
// `highest_mhz`. null if there are more than kMostTimelineBoxes passes, or none.
nlohmann::ordered_json clock_timeline(const ClockedProgram& clocked, const ExecutedClocks& executed);

}  // namespace mirfak
