#pragma once

#include "validation/measured_run.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// Known causes of the errors of predictions: a reason per group of rows, and the remedies that were tried.
struct Findings {
  struct Reason {
    std::string table;  // stem of the file of runs
    int first_line = 0;
    int last_line = 0;
    std::string text;
  };
  std::vector<Reason> reasons;
  std::string tried;  // Markdown

  // Returns the reason of the smallest group that holds the row at `where`; "" if none does.
  std::string reason_of(const std::string& table, const Location& where) const;
};

// Reads YAML: `tried: text` and `reasons: [{table, lines: [first, last] or line, reason}]`. Strict; Error(input).
Findings load_findings(const std::filesystem::path& path);

}  // namespace mirfak
