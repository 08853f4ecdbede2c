#pragma once

#include "base/document.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One cluster that the job could run on, as the scenario of a search.
struct ComparisonChoice {
  std::string option;  // its name in the file
  int nodes = 0;       // of node_counts; 0: the cluster states its nodes itself
  Location where;      // of the option
  Document document;
};

enum class SizingGoal {
  all,           // every choice is a row
  fewest_gpus,   // of each option the one with fewest GPUs that is done in time
  least_money,   // ... the cheapest that is done in time
  latest_start,  // every choice, and when it must start
};
const std::vector<std::string>& sizing_goal_names();  // in the order of the enumeration

// What rows are ordered by.
enum class ComparisonOrder { cost, time, gpus, energy, co2 };
const std::vector<std::string>& comparison_order_names();  // in the order of the enumeration

struct Sizing {
  SizingGoal goal = SizingGoal::all;
  double deadline_s = 0;                           // how long the training may take; 0: as long as it does
  std::optional<std::chrono::sys_days> finish_by;  // the day at whose end it must be done
  std::optional<std::chrono::sys_days> start;      // the day at whose beginning it starts
};

// A file of options for one job (README.md of this folder: every key).
struct ComparisonFile {
  std::string name;
  std::vector<ComparisonChoice> choices;  // option by option, in the order of the file
  Sizing sizing;
  ComparisonOrder order = ComparisonOrder::cost;
};

// `overrides`: "key=value" texts for the scenario of every option. Error(input) at the place that is wrong; whether
// options can run shows when they are searched.
ComparisonFile load_comparison(const std::filesystem::path& path, std::span<const std::string> overrides = {});
ComparisonFile parse_comparison(const Document& document, std::span<const std::string> overrides = {});

std::string date_text(std::chrono::sys_days day);  // "2027-03-01"

}  // namespace mirfak
