#include "validation/validate_runs.hpp"

#include "base/parallel.hpp"
#include "scenario/scenario_sources.hpp"
#include "scenario/search_section.hpp"
#include "simulation/iteration.hpp"
#include "simulation/prediction_range.hpp"
#include "simulation/time_factors.hpp"
#include "strategy/framework_fits.hpp"
#include "validation/row_reader.hpp"
#include "validation/run_condition.hpp"
#include "validation/run_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// One row on its way from the table to its prediction.
struct Row {
  RunReading cells;
  const RunMapping* mapping = nullptr;
};

// Rethrows an error in a value of the mapping: it would be wrong for every row, so the mapping is at fault.
void rethrow_unless_of_row(const Error& error, const RunMapping& mapping) {
  const bool of_mapping =
      std::find(mapping.files.begin(), mapping.files.end(), error.where().file) != mapping.files.end();
  if (error.kind() == ErrorKind::internal || (error.kind() == ErrorKind::input && of_mapping)) throw error;
}

// The last step that the rows of a table are taken to.
enum class Depth { scenarios, predictions, sensitivities };

// Completes values that a row leaves to its scenario.
void complete(MeasuredRun& run, const Job& job) {
  if (!run.gpus) run.gpus = job.cluster.gpus();
  if (!run.global_batch) run.global_batch = job.training.global_batch;
  if (run.model.empty()) run.model = job.model.name;
  if (run.gpu.empty()) run.gpu = job.cluster.groups().front().hardware.gpu.name;
  if (run.precision.empty()) run.precision = job.training.precision;
}

// Predicts with the constants that other tables determined, if they differ.
std::optional<double> predicted_left_out(const Job& job, const std::string& table) {
  Job other = job;
  other.framework = without_source(job.framework, table);
  if (other.framework == job.framework) return std::nullopt;
  return simulate(other).result.iteration_time_s;
}

// Returns the framework's name if it is one of `names`, else the nearest of them that it inherits from; "" for none.
std::string shipped_name(const Framework& framework, const std::vector<std::string>& names) {
  const auto is_shipped = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_shipped(framework.name)) return framework.name;
  const auto like = std::find_if(framework.likes.begin(), framework.likes.end(), is_shipped);
  return like == framework.likes.end() ? std::string() : *like;
}

// Returns the powers and energies that a row states, each with its prediction.
DrawnPairs drawn_by(const MeasuredRun& run, const Simulation& simulation) {
  const IterationResult& result = simulation.result;
  const double seconds = result.iteration_time_s;
  DrawnPairs out;
  const auto set = [&](DrawnQuantity quantity, double predicted, double measured, double low, double high) {
    out[static_cast<std::size_t>(quantity)] = RangedPair{{predicted, measured}, low, high};
  };
  const auto add = [&](std::optional<double> watts, DrawnQuantity power, DrawnQuantity energy, double joules,
                       const EnergyRange& by_power, double low_j, double high_j) {
    if (!watts) return;
    set(power, joules / seconds, *watts, by_power.low_j / seconds, by_power.high_j / seconds);
    if (run.seconds) set(energy, joules, *watts * *run.seconds, low_j, high_j);
  };
  add(run.gpu_power_w, DrawnQuantity::gpu_power, DrawnQuantity::gpu_energy, result.energy_j,
      energy_range_by_power(simulation.job, result), result.energy_low_j, result.energy_high_j);
  add(run.machine_power_w, DrawnQuantity::machine_power, DrawnQuantity::machine_energy, result.machine_energy_j,
      machine_energy_range_by_power(simulation.job, result), result.machine_energy_low_j, result.machine_energy_high_j);
  return out;
}

void predict(ValidatedRun& run, const Document& document, const DataFolders& folders, Depth depth) {
  const ScenarioSources sources(folders);
  Scenario scenario = parse_scenario(document, sources);
  const Simulation simulation = simulate(scenario.job);
  complete(run.run, simulation.job);
  run.seconds.predicted = simulation.result.iteration_time_s;
  run.fits = simulation.result.fits;
  const double probability = simulation.result.fit_probability;
  run.held_back = !run.fits || (probability >= 0 && probability < kDefaultFitProbability);
  run.allocated_bytes.measured = run.run.allocated_bytes.value_or(0);
  const std::vector<StageResult>& stages = simulation.result.stages;
  const double workspaces = simulation.job.framework.memory.workspace_bytes;
  for (std::size_t i = run.run.allocated_by_last_stage ? stages.size() - 1 : 0; i < stages.size(); ++i) {
    const MemoryUse& peak = stages[i].memory.peak;
    run.allocated_bytes.predicted = std::max(run.allocated_bytes.predicted, peak.total() - peak.platform + workspaces);
  }
  run.drawn = drawn_by(run.run, simulation);
  run.memory_peak_bytes = simulation.result.memory_peak_bytes;
  run.activity_s = simulation.result.activity_s;
  run.uncertainty = uncertainty_shares(simulation.job, simulation.result);
  run.hosts = host_margins(simulation.job, simulation.result);
  const auto nodes = simulation.job.cluster.groups();
  const std::string& machine = nodes.front().hardware.spec.name;
  const bool alike = std::all_of(nodes.begin(), nodes.end(),
                                 [&](const NodeGroup& group) { return group.hardware.spec.name == machine; });
  run.machine = alike ? machine : "";
  const std::string& architecture = nodes.front().hardware.gpu.architecture;
  const bool of_one = std::all_of(nodes.begin(), nodes.end(), [&](const NodeGroup& group) {
    return group.hardware.gpu.architecture == architecture;
  });
  run.architecture = of_one ? architecture : "";
  run.framework = simulation.job.framework.name;
  run.software = shipped_name(simulation.job.framework, sources.frameworks.names());
  run.left_out_s = predicted_left_out(scenario.job, std::filesystem::path(run.run.where.file).stem().string());
  if (depth == Depth::sensitivities && !run.run.out_of_memory) {
    run.time_sensitivities = time_sensitivities(scenario.job, run.seconds.predicted);
    run.simulated_scenario = std::make_shared<const Scenario>(std::move(scenario));
  }
  if (simulation.job.ranges.known()) {
    run.range = {simulation.result.iteration_time_low_s, simulation.result.iteration_time_high_s};
  }
}

// Returns the row with one combination of savings; nullopt if none of them adds anything new.
std::optional<ValidatedRun> with_savings(const ValidatedRun& of, const Row& row, const RunReading& plain,
                                         const std::vector<std::string>& names, const ModelLibrary& models) {
  std::vector<const MemorySaving*> savings;
  std::string assumed;
  for (const std::string& name : names) {
    const MemorySaving& saving = row.mapping->savings.at(name);
    const bool stated = std::all_of(saving.set.begin(), saving.set.end(),
                                    [&](const KeyValue& each) { return row.cells.states(each.key); });
    if (stated || !holds(saving.when, plain)) continue;
    savings.push_back(&saving);
    assumed += (assumed.empty() ? "" : ", ") + saving.note;
  }
  if (savings.empty()) return std::nullopt;
  ValidatedRun out = of;
  const RunReading reading = completed(row.cells, *row.mapping, savings);
  out.scenario = scenario_of(reading, models).to_yaml();
  out.reading = reading_text(reading);
  out.assumed = assumed;
  return out;
}

// Predicts the row as stated; if it does not fit, with the cheapest savings that make it fit, as far as the row leaves
// them open.
void predict_fitting(ValidatedRun& run, const Row& row, const RunReading& plain, const Document& scenario,
                     const ModelLibrary& models, const DataFolders& folders, Depth depth) {
  predict(run, scenario, folders, depth);
  if (run.fits || run.run.out_of_memory) return;
  std::vector<std::string> tried = {run.scenario};
  for (const std::vector<std::string>& names : row.mapping->saving) {
    std::optional<ValidatedRun> other = with_savings(run, row, plain, names, models);
    if (!other || std::find(tried.begin(), tried.end(), other->scenario) != tried.end()) continue;
    tried.push_back(other->scenario);
    try {
      predict(*other, Document::from_text(other->scenario, fmt::format("scenario of {}", run.run.where.text())),
              folders, depth);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      continue;  // the framework cannot do it
    }
    if (!other->fits) continue;
    run = *std::move(other);
    return;
  }
}

void validate(ValidatedRun& run, const Row& row, const ModelLibrary& models, const DataFolders& folders, Depth depth) {
  const RunReading reading = completed(row.cells, *row.mapping);
  run.run = measured_run(reading);
  run.seconds.measured = run.run.seconds.value_or(0);
  run.reading = reading_text(reading);
  if (!reading.refusals().empty()) {
    run.refusal = reading.refusals().front();
    run.skipped = run.refusal->message;
    return;
  }
  if (!run.run.ran && !run.run.out_of_memory) {
    run.skipped = "the row states no seconds per iteration, and no power";
    return;
  }
  try {
    const Document scenario = scenario_of(reading, models);
    run.scenario = scenario.to_yaml();
    if (depth == Depth::scenarios) {
      parse_scenario(scenario, folders);
      return;
    }
    predict_fitting(run, row, reading, scenario, models, folders, depth);
  } catch (const Error& error) {
    rethrow_unless_of_row(error, *row.mapping);
    run.skipped = error.hint().empty() ? error.message() : error.message() + "; " + error.hint();
  }
}

std::vector<ValidatedRun> read_and_predict(const CsvTable& table, const RunMappings& mappings,
                                           const DataFolders& folders, const RunMapping* own, Depth depth) {
  const std::filesystem::path file = table.name();
  std::optional<RunMapping> beside;
  if (own == nullptr && mappings.of(file.stem().string(), "").files == mappings.vocabulary().files) {
    if (const auto found = mapping_beside(file)) beside = mappings.own(*found);
  }
  if (beside) own = &*beside;
  const auto source = table.find("source");
  std::vector<Row> rows;
  const RunMapping* checked = own != nullptr ? own : &mappings.of(file.stem().string(), "");
  check_header(table, *checked);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const RunMapping* mapping = own;
    if (mapping == nullptr) mapping = &mappings.of(file.stem().string(), source ? table.text(i, *source) : "");
    if (mapping != checked) check_header(table, *mapping);
    checked = mapping;
    rows.push_back({read_cells(table, i, *mapping), mapping});
  }
  const ModelLibrary models(folders.models);
  std::vector<ValidatedRun> runs(rows.size());
  parallel_for(runs.size(), [&](std::size_t i) { validate(runs[i], rows[i], models, folders, depth); });
  return runs;
}

// Scores one quantity of the runs that ran and count.
DrawnScore score_drawn(const std::vector<ValidatedRun>& runs, std::size_t quantity, const std::string& tiers) {
  DrawnScore out;
  std::vector<PredictedPair> pairs;
  for (const ValidatedRun& run : runs) {
    if (!run.run.tier.empty() && tiers.find(run.run.tier) == std::string::npos) continue;
    const std::optional<RangedPair>& drawn = run.drawn[quantity];
    if (!drawn || !run.ran()) continue;
    pairs.push_back(drawn->pair);
    out.coverage += drawn->in_range() ? 1 : 0;
    out.mean_width += (drawn->high - drawn->low) / drawn->pair.predicted;
  }
  out.errors = error_statistics(pairs);
  if (pairs.empty()) return out;
  out.coverage /= static_cast<double>(pairs.size());
  out.mean_width /= static_cast<double>(pairs.size());
  return out;
}

}  // namespace

std::string_view name_of(DrawnQuantity quantity) {
  constexpr std::array<std::string_view, kDrawnQuantities> names = {"power of GPUs", "power of the machine",
                                                                    "energy of GPUs", "energy of the machine"};
  return names[static_cast<std::size_t>(quantity)];
}

std::string_view key_of(DrawnQuantity quantity) {
  constexpr std::array<std::string_view, kDrawnQuantities> keys = {"gpu_power_w", "machine_power_w", "gpu_energy_j",
                                                                   "machine_energy_j"};
  return keys[static_cast<std::size_t>(quantity)];
}

std::vector<ValidatedRun> validate_runs(const CsvTable& table, const RunMappings& mappings, const DataFolders& folders,
                                        const RunMapping* own, bool sensitivities) {
  return read_and_predict(table, mappings, folders, own, sensitivities ? Depth::sensitivities : Depth::predictions);
}

std::vector<ValidatedRun> read_runs(const CsvTable& table, const RunMappings& mappings, const DataFolders& folders,
                                    const RunMapping* own) {
  return read_and_predict(table, mappings, folders, own, Depth::scenarios);
}

SourceScore score(const std::vector<ValidatedRun>& runs, const std::string& name, const std::string& tiers) {
  SourceScore out;
  out.source = name;
  std::vector<PredictedPair> pairs;
  std::vector<PredictedPair> left_out;
  std::vector<PredictedPair> memory;
  for (const ValidatedRun& run : runs) {
    if (!run.run.tier.empty() && tiers.find(run.run.tier) == std::string::npos) continue;
    if (run.scored()) {
      pairs.push_back(run.seconds);
      if (const auto pair = run.left_out()) left_out.push_back(*pair);
      if (run.range) {
        out.coverage += run.in_range() ? 1 : 0;
        out.mean_width += (run.range->high_s - run.range->low_s) / run.seconds.predicted;
      }
    }
    if (run.ran()) {
      ++out.ran;
      if (run.run.allocated_bytes) memory.push_back(run.allocated_bytes);
      if (!run.fits) ++out.too_large;
    } else if (run.simulated()) {
      ++out.out_of_memory;
      if (run.fits) ++out.wrongly_fitting;
    } else {
      ++out.skipped;
    }
  }
  if (!pairs.empty()) {
    out.coverage /= static_cast<double>(pairs.size());
    out.mean_width /= static_cast<double>(pairs.size());
  }
  out.errors = error_statistics(pairs);
  out.left_out = error_statistics(left_out);
  out.memory_errors = error_statistics(memory);
  for (std::size_t quantity = 0; quantity < kDrawnQuantities; ++quantity) {
    out.drawn[quantity] = score_drawn(runs, quantity, tiers);
  }
  return out;
}

}  // namespace mirfak
