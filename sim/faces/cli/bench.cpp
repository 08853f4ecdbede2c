// Behaviour as one number: every case is simulated, and the hashes of their event streams are hashed together. The
// number changes exactly when a task of a case runs at another time. A change of behaviour therefore cannot go
// unnoticed, and a change of speed alone leaves the number as it is.

#include "base/error.hpp"
#include "base/fnv_hash.hpp"
#include "base/parallel.hpp"
#include "base/section.hpp"
#include "base/stopwatch.hpp"
#include "base/units.hpp"
#include "cli/bench_cases.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace mirfak {

namespace {

namespace po = boost::program_options;

constexpr int kExecutions = 3;  // the fastest counts: the others met a busy machine or cold memory

struct BenchResult {
  std::size_t tasks = 0;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;
  double simulate_s = 0;  // the whole simulation, once
  double execute_s = 0;   // the engine alone
};

BenchResult run_case(const BenchCase& bench, const std::filesystem::path& data) {
  const std::filesystem::path file = data / "scenarios" / "bench" / fmt::format("{}.yaml", bench.scenario);
  const Scenario scenario = load_scenario(file, {}, data_folders(data));
  BenchResult result;
  const WallClock::time_point start = WallClock::now();
  const Simulation simulation = simulate(scenario.job, bench.lowering, bench.executor);
  result.simulate_s = seconds_since(start);
  result.tasks = simulation.program.size();
  result.events = simulation.timeline.events;
  result.hash = simulation.timeline.hash();
  result.execute_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kExecutions; ++i) {
    const WallClock::time_point again = WallClock::now();
    const Timeline timeline = execute(simulation.program, bench.executor);
    result.execute_s = std::min(result.execute_s, seconds_since(again));
    if (timeline.hash() != result.hash) fail_internal(fmt::format("bench: '{}' differs between runs", bench.name));
  }
  return result;
}

// Returns the FNV-1a hash of the bytes of the cases' hashes, in their order.
std::uint64_t combined_hash(std::span<const BenchResult> results) {
  std::uint64_t hash = kFnvStart;
  for (const BenchResult& result : results) hash = fnv_hash(hash, result.hash, 8);
  return hash;
}

Table table_of(std::span<const BenchResult> results) {
  Table table(
      "case:name | >tasks:tasks | >events:events | >simulate:simulate_s | >execute:execute_s | >events/s:events_per_s "
      "| "
      "hash:hash",
      0);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const BenchResult& result = results[i];
    table.add({bench_cases()[i].name, result.tasks, result.events, in_seconds(result.simulate_s),
               in_seconds(result.execute_s), in_count(static_cast<double>(result.events) / result.execute_s),
               fmt::format("{:016x}", result.hash)});
  }
  return table;
}

std::string text_of(std::span<const BenchResult> results) {
  return table_of(results).text() + fmt::format("hash {:016x}\n", combined_hash(results));
}

std::string json_of(std::span<const BenchResult> results, double wall_time_s) {
  const nlohmann::ordered_json out = {{"cases", table_of(results).json()},
                                      {"hash", fmt::format("{:016x}", combined_hash(results))},
                                      {"wall_time_s", wall_time_s}};
  return printed_json(out);
}

}  // namespace

CommandOutput run_bench(std::span<const std::string> arguments, const Surroundings& surroundings) {
  std::string format_name;
  std::string data;
  int threads = 1;
  CommandSyntax syntax("mirfak bench [OPTION]...",
                       "Simulates fixed scenarios and prints the events per second of each, and one hash of all\n"
                       "events, which is the same on every run and with any number of threads.");
  auto add = syntax.options.add_options();
  add("threads", po::value(&threads)->default_value(1)->value_name("N"),
      "cases to run at the same time; 0: one for each core. More than one disturbs the times");
  add("format", po::value(&format_name)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(data), "holds models/, hw_profiles/ and scenarios/bench/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const OutputFormat format = format_choice(format_name);
  if (threads < 0) fail_input({}, fmt::format("--threads: expected 0 or more, found {}", threads));

  std::vector<BenchResult> results(bench_cases().size());
  parallel_for(
      results.size(), [&](std::size_t i) { results[i] = run_case(bench_cases()[i], data); }, threads);
  if (format == OutputFormat::text) return {text_of(results), {}};
  return {json_of(results, surroundings.seconds_so_far()), {}};
}

}  // namespace mirfak
