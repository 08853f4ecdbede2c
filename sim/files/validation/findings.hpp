#pragma once

#include "validation/measured_run.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// Known causes of the errors of predictions: a reason per group of rows, the remedies that were tried, and the errors
// that tables had when they were seen for the first time.
struct Findings {
  struct Reason {
    std::string table;  // stem of the file of runs
    int first_line = 0;
    int last_line = 0;
    std::string text;
  };
  // The errors of a table's predictions that were made before anyone had seen what was measured. They never change.
  struct FirstContact {
    std::string table;  // stem of the file of runs
    std::string by;     // the version that predicted
    int rows = 0;
    double mape = 0;  // shares, as in ErrorStatistics
    double median_ape = 0;
    double mean_error = 0;
    double coverage = 0;  // share of the rows that lay in the range of 80 % around their prediction
  };
  std::vector<Reason> reasons;
  std::vector<FirstContact> first_contacts;
  std::string tried;  // Markdown

  // Returns the reason of the smallest group that holds the row at `where`; "" if none does.
  std::string reason_of(const std::string& table, const Location& where) const;
};

// Reads YAML: `tried: text`, `reasons: [{table, lines: [first, last] or line, reason}]` and
// `first_contacts: [{table, by, rows, mape, median_ape, mean_error, coverage}]`. Strict; Error(input).
Findings load_findings(const std::filesystem::path& path);

}  // namespace mirfak
