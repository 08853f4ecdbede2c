#pragma once

#include "comparison/option_results.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Output of `mirfak compare` (keys of JSON and CSV: README.md of this folder).
std::string comparison_text(const ComparisonFile& file, const Comparison& comparison);
nlohmann::ordered_json comparison_json(const ComparisonFile& file, const Comparison& comparison);
std::string comparison_csv(const Comparison& comparison);

// Returns the reason why a row has no figures.
std::string reason_text(const OptionResult& row);
// Returns the question of a comparison: "fewest GPUs of each option that are done in 60.0 days, by cost".
std::string comparison_question(const ComparisonFile& file, const Comparison& comparison);
// Returns the winner in a sentence, with what could change places with it, or the next one; "": nothing runs in time.
std::string comparison_winner(const Comparison& comparison);
// Returns remarks for the reader: the origin of the times, the parts that energy counts.
std::vector<std::string> comparison_remarks(const Comparison& comparison);
// Returns the best strategy of a row that runs: "tp 4 pp 2 dp 8 mb 1, full recomputation".
std::string option_strategy(const OptionResult& row);

}  // namespace mirfak
