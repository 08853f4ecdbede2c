#pragma once

#include "report/validation_report.hpp"
#include "validation/findings.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The plots of a report, by the names that it calls them.
struct ReportPlots {
  std::string scatter;      // scatter_svg.hpp
  std::string reliability;  // reliability_svg.hpp
};

// The error report as Markdown: scores of every table and of all, by tier; the scatter plot; how honest ranges are for
// tables left out of their fit, where there are enough tables (reliability_of_tables()); the ten worst rows, each with
// the reason that `findings` give; rows that could not be simulated, by reason; what was tried.
std::string validation_markdown(const std::vector<ValidationTable>& tables, const Findings& findings,
                                const ReportPlots& plots);

// Of the rows of tier A; empty for fewer than three tables.
std::vector<Reliability> reliability_of_tables(const std::vector<ValidationTable>& tables);

// Measured and predicted seconds of the scored rows, a series per table.
std::string validation_plot(const std::vector<ValidationTable>& tables);

}  // namespace mirfak
