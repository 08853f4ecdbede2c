#pragma once

#include "energy/frontier.hpp"
#include "simulation/iteration.hpp"
#include "training/prediction.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// More boxes than this are not drawn; what is left out is said.
inline constexpr std::size_t kMostTimelineBoxes = 16000;

// What the page's timeline draws, as JSON: `unit_s`, `end` (in units), `kinds` (a list of [words, kind]), `names` (a
// list of `text` and `kind`), `rows` (a list of `label` and `lanes`, each a list of boxes [name, start, duration,
// microbatch or -1]), `left_out` (sentences).

// One GPU of each stage, with mixed replicas of each class of them: its passes, and what it communicates.
nlohmann::ordered_json pass_timeline(const Simulation& simulation);

// The run of a training that ends at the median: one row; the fourth number of a box is an index into `causes`, or -1.
nlohmann::ordered_json run_timeline(const TrainingPrediction& prediction);

// Passes at the clocks of a plan: a fifth number of each box, its clock in MHz, `lowest_mhz` and `highest_mhz`.
nlohmann::ordered_json clock_timeline(const ClockedProgram& clocked, const ExecutedClocks& executed);

}  // namespace mirfak
