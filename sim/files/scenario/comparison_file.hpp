#pragma once

#include "base/document.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A cluster that the job could run on, as the scenario of a search.
struct ComparisonChoice {
  std::string option;  // name of the option in the file
  int nodes = 0;       // one of the option's node_counts; 0: the cluster states its nodes itself
  Location where;      // place of the option
  Document document;
};

enum class SizingGoal {
  all,           // every choice is a row
  fewest_gpus,   // for each option the choice with fewest GPUs that meets the deadline
  least_money,   // for each option the cheapest choice that meets the deadline
  latest_start,  // every choice, with the latest day on which it must start
};
const std::vector<std::string>& sizing_goal_names();  // in the order of the enumeration

// Order of the rows.
enum class ComparisonOrder { cost, time, gpus, energy, co2 };
const std::vector<std::string>& comparison_order_names();  // in the order of the enumeration

struct Sizing {
  SizingGoal goal = SizingGoal::all;
  double deadline_s = 0;                           // longest time that the training may take; 0: no limit
  std::optional<std::chrono::sys_days> finish_by;  // the day at whose end the training must be done
  std::optional<std::chrono::sys_days> start;      // the day at whose beginning the training starts
};

// A file of options for one job (README.md of this folder: every key).
struct ComparisonFile {
  std::string name;
  std::vector<ComparisonChoice> choices;  // option by option, in the order of the file
  Sizing sizing;
  ComparisonOrder order = ComparisonOrder::cost;
};

// `overrides`: "key=value" texts for the scenario of every option. Error(input) at the place of the fault; an option
// that cannot run is found only when it is searched.
ComparisonFile load_comparison(const std::filesystem::path& path, std::span<const std::string> overrides = {});
ComparisonFile parse_comparison(const Document& document, std::span<const std::string> overrides = {});

std::string date_text(std::chrono::sys_days day);  // "2027-03-01"

}  // namespace mirfak
