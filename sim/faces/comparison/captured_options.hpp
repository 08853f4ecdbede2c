#pragma once

#include "base/figure.hpp"
#include "capture/captured_scenario.hpp"
#include "comparison/option_results.hpp"
#include "scenario/comparison_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// A captured program on one of its options.
struct CapturedOption {
  std::string option;
  int nodes = 0;
  int gpus = 0;
  std::string refused;              // reason why it does not run; empty: it runs
  std::vector<FigureValue> values;  // its figures, in the order of iteration_figures(); empty: it was not executed
  std::vector<std::string> notes;

  bool runs() const { return refused.empty(); }
  // Returns a figure by its key; nullopt: it is not known.
  std::optional<double> value(std::string_view key) const;
};

struct CapturedComparison {
  std::vector<CapturedOption> rows;  // in the wanted order; options that do not run stand after the others
  bool complete = true;              // false: it was stopped, and rows are missing
  std::vector<std::string> notes;    // of all options, equal ones once, with the options that they are about
};

bool compares_captures(const ComparisonFile& file);  // true if an option is a scenario of a capture

// Executes a captured program on each of the options of a file. An option that is too small for it is a row with the
// reason. Error(input) for a file that asks by when a training is done, of which a capture says nothing, for options of
// which some are of no capture, and as of read_captured_scenario().
CapturedComparison compare_captures(const ComparisonFile& file, const DataFolders& folders,
                                    const ComparisonProgress& progress = {}, const SearchStop& stop = {});

// Output of `mirfak compare` for captures (keys of JSON and CSV: README.md of this folder).
std::string captured_comparison_text(const ComparisonFile& file, const CapturedComparison& comparison);
nlohmann::ordered_json captured_comparison_json(const ComparisonFile& file, const CapturedComparison& comparison);
std::string captured_comparison_csv(const CapturedComparison& comparison);

}  // namespace mirfak
