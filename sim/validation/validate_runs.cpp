#include "validation/validate_runs.hpp"

#include "base/parallel.hpp"
#include "simulation/iteration.hpp"
#include "validation/run_memory_saving.hpp"
#include "validation/run_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

void predict(ValidatedRun& run, const DataFolders& folders) {
  const Document document = Document::from_text(run.scenario, fmt::format("scenario of {}", run.run.where.text()));
  const Simulation simulation = simulate(parse_scenario(document, folders).job);
  run.seconds.predicted = simulation.result.iteration_time_s;
  run.fits = simulation.result.fits;
  run.allocated_bytes.measured = run.run.allocated_bytes.value_or(0);
  for (const StageResult& stage : simulation.result.stages) {
    const MemoryUse& peak = stage.memory.peak;
    run.allocated_bytes.predicted = std::max(run.allocated_bytes.predicted, peak.total() - peak.platform);
  }
  run.memory_peak_bytes = simulation.result.memory_peak_bytes;
  run.activity_s = simulation.result.activity_s;
}

// As the row stands, or with the least that makes it fit where it leaves that open.
void predict_fitting(ValidatedRun& run, const ModelLibrary& models, const DataFolders& folders) {
  run.scenario = scenario_yaml_of(run.run, models);
  predict(run, folders);
  if (run.fits || run.run.out_of_memory) return;
  for (const RunVariant& variant : variants_by_memory(run.run)) {
    ValidatedRun other = run;
    other.scenario = scenario_yaml_of(variant.run, models);
    if (other.scenario == run.scenario) continue;
    other.assumed = variant.assumed;
    try {
      predict(other, folders);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      continue;  // the framework cannot do it
    }
    if (!other.fits) continue;
    run = std::move(other);
    return;
  }
}

void validate(ValidatedRun& run, const ModelLibrary& models, const DataFolders& folders) {
  if (!run.run.seconds && !run.run.out_of_memory) {
    run.skipped = "the row states no seconds per iteration";
    return;
  }
  run.seconds.measured = run.run.seconds.value_or(0);
  try {
    predict_fitting(run, models, folders);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    run.skipped = error.hint().empty() ? error.message() : error.message() + "; " + error.hint();
  }
}

}  // namespace

std::vector<ValidatedRun> validate_runs(const CsvTable& table, const DataFolders& folders) {
  const ModelLibrary models(folders.models);
  std::vector<ValidatedRun> runs;
  for (MeasuredRun& run : read_measured_runs(table)) {
    runs.emplace_back();
    runs.back().run = std::move(run);
  }
  parallel_for(runs.size(), [&](std::size_t i) { validate(runs[i], models, folders); });
  return runs;
}

SourceScore score(const std::vector<ValidatedRun>& runs, const std::string& name, const std::string& tiers) {
  SourceScore out;
  out.source = name;
  std::vector<PredictedPair> pairs;
  std::vector<PredictedPair> memory;
  for (const ValidatedRun& run : runs) {
    if (!run.run.tier.empty() && tiers.find(run.run.tier) == std::string::npos) continue;
    if (run.scored()) {
      pairs.push_back(run.seconds);
      if (run.run.allocated_bytes) memory.push_back(run.allocated_bytes);
      if (!run.fits) ++out.too_large;
    } else if (run.simulated()) {
      ++out.out_of_memory;
      if (run.fits) ++out.wrongly_fitting;
    } else {
      ++out.skipped;
    }
  }
  out.errors = error_statistics(pairs);
  out.memory_errors = error_statistics(memory);
  return out;
}

}  // namespace mirfak
