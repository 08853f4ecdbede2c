// Alpa's planner on the models of its paper (scenarios/papers/alpa/sizes.csv), both levels and the engine included: how
// long planning takes, by the clock and of the processor, and what of it each part takes.
//   mirfak_bench_alpa [--smoke]
// Programs and parts (partitions) are summed over threads.

#include "alpa/planner.hpp"
#include "base/csv.hpp"
#include "processor_time.hpp"
#include "scenario/search_scenario.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace mirfak;
using namespace mirfak::alpa;

SearchScenario scenario_of(const CsvTable& table, std::size_t row) {
  const auto text = [&](const char* column) { return table.text(row, table.require(column)); };
  std::vector<std::string> overrides = {
      fmt::format("cluster.nodes=[{{type: aws-p3, count: {}, gpus: {}}}]", text("nodes"), text("gpus"))};
  if (!text("model").empty()) overrides.push_back("model=" + text("model"));
  for (const char* size : {"layers", "hidden", "heads"}) {
    if (!text(size).empty()) overrides.push_back(fmt::format("model.{}={}", size, text(size)));
  }
  const std::filesystem::path source = source_root();
  return load_search(source / "scenarios/papers/alpa" / (text("scenario") + ".yaml"), overrides,
                     DataFolders{source / "models", source / "hw_profiles"});
}

void print_row(const CsvTable& table, std::size_t row) {
  const SearchScenario scenario = scenario_of(table, row);
  const double before = processor_s();
  const PlannerOutcome found = plan(scenario.job, scenario.search.spec, {Levels::both, 0, 1});
  const double processor = processor_s() - before;
  const double iteration = found.plans.empty() ? 0 : found.plans.front().simulated.iteration.iteration_time_s;
  fmt::print("{:<16} {:>5} {:>4} {:>7.2f} s {:>7.2f} s {:>8} {:>7} {:>9.2f} s {:>9.2f} s {:>7.2f} s {:>8} {:>9.2f} s\n",
             table.text(row, table.require("scenario")), table.text(row, table.require("parameters")),
             scenario.job.cluster.gpus(), found.total_s, processor, found.effort.programs, found.effort.partitions,
             found.effort.programs_s, found.effort.partitions_s, found.execute_s, found.executed, iteration);
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  try {
    const CsvTable table =
        CsvTable::from_file(std::filesystem::path(source_root()) / "scenarios/papers/alpa/sizes.csv");
    fmt::print("{:<16} {:>5} {:>4} {:>9} {:>9} {:>8} {:>7} {:>11} {:>11} {:>9} {:>8} {:>11}\n", "family", "", "GPUs",
               "planned", "CPU", "programs", "parts", "programs", "parts", "engine", "executed", "iteration");
    for (std::size_t row = 0; row < (smoke ? 2 : table.rows()); ++row) print_row(table, row);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
