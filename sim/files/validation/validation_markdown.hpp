#pragma once

#include "validation/findings.hpp"
#include "validation/validation_report.hpp"

#include <string>
#include <vector>

namespace mirfak {

// File names of the plots, as the report refers to them.
struct ReportPlots {
  std::string scatter;      // scatter_svg.hpp
  std::string reliability;  // reliability_svg.hpp
};

// Returns the error report as Markdown: scores of every table and of all tables, by tier; the scatter plot; the
// reliability of ranges for tables left out of their fit, if there are enough tables (reliability_of_tables()); the ten
// worst rows, each with its reason from `findings`; rows that could not be simulated, by reason; the errors at first
// contact and the attempts that `findings` list. `first_contacts`: tables of which these errors are, as predicted
// today.
std::string validation_markdown(const std::vector<ValidationTable>& tables, const Findings& findings,
                                const ReportPlots& plots, const std::vector<ValidationTable>& first_contacts = {});

// Returns the reliability of ranges for the rows of tier A; empty for fewer than three tables.
std::vector<Reliability> reliability_of_tables(const std::vector<ValidationTable>& tables);

// Returns a plot of measured and predicted seconds of the scored rows, with a series per table.
std::string validation_plot(const std::vector<ValidationTable>& tables);

}  // namespace mirfak
