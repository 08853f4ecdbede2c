// Any bytes are either a scenario or an error that says where; a scenario survives its own YAML; and a job small enough
// to be simulated at once is simulated, folded and unfolded to the same time, or refused with an Error.

#include "scenario/scenario.hpp"
#include "base/document.hpp"
#include "base/error.hpp"
#include "require.hpp"
#include "scenario/jobs_file.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rules.hpp"
#include "support/source_root.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace {

using namespace mirfak;

const DataFolders kFolders{source_root() + "/models", source_root() + "/hw_profiles"};

// In a folder that does not exist, so that no path relative to it does.
Scenario parse(std::string text) {
  return parse_scenario(Document::from_text(std::move(text), "none/s.yaml"), kFolders);
}

std::optional<Scenario> scenario_of(const std::string& text) {
  try {
    return parse(text);
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal && error.where().known(), error.what());
    return std::nullopt;
  }
}

// A file of several jobs is read, or refused.
bool are_jobs(const std::string& text) {
  try {
    const Document document = Document::from_text(text, "none/s.yaml");
    if (!has_jobs(document)) return false;
    for (const NamedJob& job : read_jobs(document, ScenarioSources(kFolders)).jobs) {
      const Job& of = job.job();
      require(of.part != nullptr && std::ssize(of.part->devices) == of.cluster.gpus());
    }
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal && error.where().known(), error.what());
  }
  return true;
}

bool is_small(const Job& job) {
  const std::int64_t passes =
      std::int64_t{job.strategy.pipeline} * job.strategy.virtual_pipeline * microbatches(job.strategy, job.training);
  return job.strategy.ranks() <= 64 && passes * job.strategy.ranks() <= 10'000;
}

void check_simulation(const Job& job) {
  try {
    const auto folded = simulate(job);
    const auto unfolded = simulate(job, {.unfolded = true, .operators = false});
    require(folded.timeline.makespan == unfolded.timeline.makespan);
    const IterationResult& result = folded.result;
    require(std::isfinite(result.iteration_time_s) && result.iteration_time_s > 0);
    require(std::isfinite(result.energy_j) && result.mfu > 0 && result.mfu < 1 && result.hfu >= result.mfu);
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal, error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string text(bytes, bytes + size);
  if (are_jobs(text)) return 0;
  const std::optional<Scenario> scenario = scenario_of(text);
  if (!scenario) return 0;
  require(parse(scenario->resolved).resolved == scenario->resolved);
  if (is_small(scenario->job)) check_simulation(scenario->job);
  return 0;
}
