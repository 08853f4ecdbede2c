#pragma once

#include "comparison/option_results.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

namespace mirfak {

// What `mirfak compare` prints (keys of JSON and CSV: README.md of this folder).
std::string comparison_text(const ComparisonFile& file, const Comparison& comparison);
nlohmann::ordered_json comparison_json(const ComparisonFile& file, const Comparison& comparison);
std::string comparison_csv(const Comparison& comparison);

// A number of a row, by the key that JSON and CSV have for it; absent: not known.
struct ComparisonFigure {
  const char* key;
  std::optional<double> (*value)(const OptionResult& row);
};
std::span<const ComparisonFigure> comparison_figures();

// Why a row has no figures.
std::string reason_text(const OptionResult& row);
// What is asked, in a sentence: "fewest GPUs of each option that are done in 60.0 days, by cost".
std::string comparison_question(const ComparisonFile& file, const Comparison& comparison);
// What else a reader must know: where times come from, what energy counts.
std::vector<std::string> comparison_remarks(const Comparison& comparison);
// "tp 4 pp 2 dp 8 mb 1, full recomputation": the best strategy of a row that runs.
std::string option_strategy(const OptionResult& row);

}  // namespace mirfak
