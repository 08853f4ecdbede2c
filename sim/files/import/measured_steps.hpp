#pragma once

#include "import/training_log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// The time of a step by a log. Steps of the warm-up are left out: at each start and after each return to a
// checkpoint the first stated time, and the times after it that are longer than nine of ten in the second half.
struct MeasuredSteps {
  double seconds = 0;  // median over the times that count; for a progress bar or a whole run the mean
  double low_s = 0;    // 10th and 90th percentile of the times; what rounding leaves open for a progress bar
  double high_s = 0;
  std::int64_t used = 0;           // stated times that count; each may be the mean of several steps
  std::int64_t warm_up = 0;        // stated times left out as warm-up
  std::int64_t other_batches = 0;  // stated times of another global batch, which are left out
  Location first;                  // place of the first time that counts
  std::string basis;               // "median of 45 times", "mean of steps 20 to 200 by a progress bar"
};

// Sizes of the job by which rates become seconds; nothing if they are not known.
struct StepSizes {
  std::optional<double> sequences;  // of the global batch: samples
  std::optional<double> tokens;     // of a sample
  std::optional<double> gpus;
};

// Returns the time of a step; nothing if no line states one. `missing` gets the keys whose values would make seconds
// of the log's rates ("training.global_batch"); then there is no time.
std::optional<MeasuredSteps> measured_steps(const std::vector<std::vector<LoggedTime>>& parts, const StepSizes& sizes,
                                            std::vector<std::string>& missing);

// Returns "8.90 s, median of 45 times (80 % of them 8.71 s to 9.20 s); 1 left out as warm-up".
std::string measured_text(const MeasuredSteps& steps);

}  // namespace mirfak
