#include "scenario/search_scenario.hpp"

#include "base/error.hpp"
#include "program/quantization_of_job.hpp"
#include "scenario/job_check.hpp"
#include "scenario/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxSequences = std::int64_t{1} << 22;  // per iteration; bounds a simulation's memory

// Requires the price of every type if the objective or a limit is in dollars.
void check_prices(const Document& document, const Job& job, const SearchSpec& spec) {
  const bool by_cost = spec.objective == SearchObjective::cost || spec.objective == SearchObjective::pareto;
  if (!by_cost && spec.budget_usd == 0) return;
  for (const NodeGroup& group : job.cluster.groups()) {
    if (group.price) continue;
    locate(document, by_cost ? "search.objective" : "search.budget_usd")
        .fail(fmt::format("nobody is known to offer {} ({}) at {}", group.hardware.gpu.title, group.hardware.spec.name,
                          group.price_asked),
              "state its price per GPU hour (price: 2.5 in its entry of cluster.nodes), choose another cluster.price, "
              "leave these nodes out, or minimise time or energy without a budget");
  }
}

// The time to finish needs the events between iterations, such as failures.
void set_finish(const Document& document, const ScenarioSections& sections, SearchSpec& spec, const Job& job) {
  if (spec.objective != SearchObjective::finish) return;
  if (!sections.operations) {
    locate(document, "search.objective")
        .fail("the time to finish follows from the section `operations`, which is missing",
              "write operations: {failures: {rate_per_node_day: 0.004}, restart_s: 600, checkpoint: {write_s: 10}}");
  }
  spec.finish = [job, operations = *sections.operations](const Cluster& used) {
    Job own = job;
    own.cluster = used;
    return ExpectedFinish(own, on_nodes(operations, job.cluster, used));
  };
  spec.finish(job.cluster);  // an operation outside the closed form is reported at once
}

// Refuses choices of nodes that a search does not try with several kinds of GPU in one node.
void check_mixed_nodes(const Document& document, const Job& job, const SearchSpec& spec) {
  if (!job.cluster.mixes_gpus()) return;
  if (spec.any_count) {
    locate(document, "search.nodes")
        .fail("nodes that hold several kinds of GPU are all used, in their order", "set search.nodes: all");
  }
  if (spec.space.stages == StageShapes::by_type && job.cluster.nodes() > 1) {
    locate(document, "search.space.stages")
        .fail("shapes of stages are not searched for several nodes of which some hold several kinds of GPU",
              "leave it out, or give strategy.stages");
  }
}

// Checks what no choice of strategy could repair.
void check(const Document& document, const Job& job, const SearchSpec& spec) {
  if (job.training.global_batch > kMaxSequences) {
    locate(document, "training.global_batch")
        .fail_infeasible("a search takes at most 2^22 sequences per iteration", "lower training.global_batch");
  }
  check_mixed_nodes(document, job, spec);
  // If the search may choose nodes, it is enough that some nodes can train.
  const auto groups = job.cluster.groups();
  const bool some = std::any_of(groups.begin(), groups.end(),
                                [&](const NodeGroup& group) { return !format_obstacle(group.hardware.gpu, job); });
  if (some && spec.any_count) return;
  for (const NodeGroup& group : groups) {
    const std::optional<FormatObstacle> obstacle = format_obstacle(group.hardware.gpu, job);
    if (!obstacle) continue;
    locate(document, obstacle->key)
        .fail_infeasible(obstacle->message, "choose another precision, or leave these nodes out");
  }
}

// Returns the job as it is stated, or the reason why it cannot run.
StatedJob baseline_of(const Document& document, const ScenarioSources& sources) {
  try {
    return {parse_scenario(document, sources).job, {}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    return {std::nullopt, error.message()};
  }
}

// Sets the perturbations of the cluster aside, of which a robust search draws those that no rank has for certain.
void take_perturbations(const Document& document, SearchScenario& scenario) {
  const Cluster& cluster = scenario.job.cluster;
  const Perturbations& perturbations = cluster.perturbations();
  const bool certain = !perturbations.empty() || perturbations.experts.has_value();
  if (certain || (perturbations.is_drawn() && !scenario.search.robust)) {
    locate(document, "cluster.perturbations")
        .fail("a search decides where ranks lie",
              certain ? "leave perturbations out" : "leave perturbations out, or set search.robust: true");
  }
  if (scenario.search.robust && scenario.search.spec.objective != SearchObjective::time) {
    locate(document, "search.robust").fail("the p90 is one of times", "set search.objective: time");
  }
  if (!perturbations.is_drawn()) return;
  scenario.perturbations = perturbations;
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : cluster.groups()) nodes.emplace_back(group);
  scenario.job.cluster = Cluster(std::move(nodes), cluster.fabric(), {}, cluster.facility());
}

// Refuses to look for little energy where ramps slow work: bounds know the energy of work at full speed, and slower
// work may need less.
void check_ramps(const Document& document, const SearchScenario& scenario) {
  const std::optional<PowerFloor>& floor = scenario.job.cluster.facility().power_floor;
  const SearchSpec& spec = scenario.search.spec;
  const bool of_energy = spec.objective == SearchObjective::energy || spec.objective == SearchObjective::pareto;
  if (!floor || !floor->ramp_up_slows_work || (!of_energy && spec.power_cap_w == 0)) return;
  locate(document, "cluster.power_floor")
      .fail("the least energy of work that ramps slow is not known",
            "search for time or cost without a power cap, or leave out ramp_up_slows_work");
}

// `document`: without the values that the search chooses.
SearchScenario read_scenario(const Document& document, const ScenarioSources& sources) {
  ScenarioSections sections = read_sections(document, sources);
  StatedSetting stated = stated_setting(sections, sources);
  SearchScenario scenario{document.name(),
                          document,
                          {std::move(sections.model),
                           std::move(sections.cluster),
                           std::move(sections.training),
                           {},
                           std::move(sections.framework),
                           sources.ranges},
                          {},
                          std::move(stated),
                          {}};
  if (scenario.job.cluster.shares_gpus()) {
    locate(document, "cluster.nodes").fail("a search gives every rank a GPU of its own", "leave ranks_per_gpu out");
  }
  scenario.search = read_search(sections.search, scenario.job);
  take_perturbations(document, scenario);
  check_ramps(document, scenario);
  set_finish(document, sections, scenario.search.spec, scenario.job);
  check(document, scenario.job, scenario.search.spec);
  check_prices(document, scenario.job, scenario.search.spec);
  fix_strategy(sections.strategy, sections.search, scenario.job, scenario.search);
  const std::vector<double>& offload = scenario.search.spec.space.offload_optimizer;
  if (*std::max_element(offload.begin(), offload.end()) > 0) check_offload(document, scenario.job.cluster);
  scenario.assertions = std::move(sections.assertions);
  scenario.resolved = completed_yaml(completed_search(scenario.job, scenario.stated, scenario.search));
  return scenario;
}

}  // namespace

SearchScenario parse_search(const Document& document, const DataFolders& folders) {
  const ScenarioSources sources(folders);
  const FreedKeys freed = freed_keys(document);
  if (!freed.any()) return read_scenario(document, sources);
  std::vector<std::string> notes;
  SearchScenario out = read_scenario(without_freed(document, freed, notes), sources);
  out.document = document;
  out.notes.insert(out.notes.end(), notes.begin(), notes.end());
  out.baseline = baseline_of(document, sources);
  return out;
}

SearchOutcome search_and_simulate(const SearchScenario& scenario, int threads, const SearchProgress& progress,
                                  const SearchStop& stop) {
  const SearchSpec& spec = scenario.search.spec;
  std::optional<SimulatedStrategy> baseline;
  if (scenario.baseline && scenario.baseline->job) baseline = simulate_stated(*scenario.baseline->job, spec);
  SearchOutcome out = search_and_simulate(scenario.job, spec, threads, progress, stop);
  out.baseline = std::move(baseline);
  if (scenario.search.robust && !out.strategies.empty()) {
    out.robust = std::make_shared<const RobustChoice>(robust_choice(out.strategies, scenario.perturbations, threads));
  }
  return out;
}

SearchScenario load_search(const std::filesystem::path& path, std::span<const std::string> overrides,
                           const DataFolders& folders) {
  Document document = Document::from_file(path);
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_search(document, folders);
}

std::string found_scenario(const SearchScenario& scenario, const Job& found) {
  return completed_yaml(completed_scenario(found, scenario.stated));
}

Scenario as_scenario(const SearchScenario& search, const Job& found, const ScenarioSources& sources) {
  return parse_scenario(search.document.with_root(completed_scenario(found, search.stated)), sources);
}

}  // namespace mirfak
