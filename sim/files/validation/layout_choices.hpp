#pragma once

#include "validation/validate_runs.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Rows of a table with one word in the column `group` differ in their layout alone, so that they judge a choice among
// layouts. Runs that ran out of memory are candidates without a time.
//
// Times judge the order of the rows that have one: the favourite is the row that is predicted to be fastest. Outcomes
// judge the choice among all candidates: the fastest of those that a search does not hold back for memory.
struct LayoutChoice {
  std::string table, group;
  int timed = 0;            // candidates with a measured time
  int failed = 0;           // candidates that ran out of memory
  int failed_fitting = 0;   // of them, those predicted to fit
  int failed_admitted = 0;  // of them, those that a search does not hold back
  int ran_too_large = 0;    // candidates that ran and are predicted not to fit
  int ran_held_back = 0;    // candidates that ran and that a search holds back

  // The order of the timed rows; nothing with fewer than two of them. Regret: measured time over the least measured
  // time, minus 1, of the favourite, and of the fastest measured of the three that are predicted to be fastest. Of rows
  // with equal predictions the slowest counts first.
  std::optional<double> correlation;  // Spearman's
  std::optional<double> regret, regret_of_three;

  // The choice among all candidates; nothing if all of them are held back.
  std::optional<bool> choice_ran;
  std::optional<double> regret_of_choice;  // if it has a measured time
};

// Judges every group of the runs that count, in the order in which groups begin. `tiers` as in score(). Groups with
// fewer than two candidates have no choice and are left out.
std::vector<LayoutChoice> layout_choices(const std::string& table, std::span<const ValidatedRun> runs,
                                         const std::string& tiers);

// Means over the groups that know each of them, and sums.
struct LayoutChoices {
  int groups = 0;
  int timed = 0, failed = 0, failed_fitting = 0, failed_admitted = 0, ran_too_large = 0, ran_held_back = 0;
  std::optional<double> correlation, regret, regret_of_three;
  int choices = 0;      // groups in which not everything is held back
  int choices_ran = 0;  // of them, those whose choice ran
  std::optional<double> regret_of_choice;
};
LayoutChoices all_choices(std::span<const LayoutChoice> groups);

}  // namespace mirfak
