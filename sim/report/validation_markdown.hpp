#pragma once

#include "report/validation_report.hpp"
#include "validation/findings.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The error report as Markdown: scores of every table and of all, by tier; the plot `plot_name` (scatter_svg.hpp);
// the ten worst rows, each with the reason that `findings` give; rows that could not be simulated, by reason; what
// was tried.
std::string validation_markdown(const std::vector<ValidationTable>& tables, const Findings& findings,
                                const std::string& plot_name);

// Measured and predicted seconds of the scored rows, a series per table.
std::string validation_plot(const std::vector<ValidationTable>& tables);

}  // namespace mirfak
