#pragma once

#include "base/section.hpp"
#include "validation/findings.hpp"
#include "validation/layout_choices.hpp"
#include "validation/validation_report.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A reader of validation tables: a terminal, or REPORT.md, which has fewer columns of scores, and reasons of errors.
enum class ReportForm { terminal, file };

// Returns a row of scores per table, and rows of means. `tiers`: the graded rows that count (see score()).
Table scores_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form);

// Judges the groups of all tables (layout_choices.hpp).
std::vector<LayoutChoice> choices_of(const std::vector<ValidationTable>& tables, const std::string& tiers);

// Returns the errors of the memory that the framework allocated, a row per table that states it.
Table memory_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form);

// Returns the errors of powers and energies, and how many lie in their ranges: a row per quantity and table that states
// it, and a row per quantity of all tables if there are several.
Table drawn_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form);

// Returns the rows with the largest errors. `findings`: the reasons, which a file has.
Table worst_table(const std::vector<ValidationTable>& tables, const std::string& tiers, std::size_t most,
                  ReportForm form, const Findings& findings = {});

// Returns how well predictions choose among the layouts of each group (layout_choices.hpp), and a row of means and
// sums; empty without groups.
Table choices_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form);

// Returns the errors that tables had at first contact, with today's errors where `today` has the table.
Table first_contact_table(const Findings& findings, const std::vector<ValidationTable>& today);

// Returns the reliability of ranges for tables that were left out of the fit of the ranges' widths.
Table left_out_table(const std::string& title, const LeftOutRanges& left_out, ReportForm form);
// Returns the same by how many sources measured the software of a run on such GPUs: means over tables.
Table familiarity_table(const LeftOutRanges& left_out);

}  // namespace mirfak
