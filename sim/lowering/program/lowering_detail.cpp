#include "program/lowering_detail.hpp"

#include "network/cluster_routes.hpp"
#include "program/program_size.hpp"
#include "program/replica_classes.hpp"
#include "program/replica_kinds.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Limits of the number of tasks. Above the first, ranks that short links slow unlike are not told apart; above the
// second, neither are ranks whose factors differ: a prediction would take minutes, and many GB.
constexpr double kManyTasks = 4e6;
constexpr double kManyTasksOfUnlikeRanks = 1U << 24U;
bool overlaps_replicas(const DataParallelPlan& plan) {
  return plan.gathers_in_passes() || plan.gather == DataParallelPlan::Gather::first_forward ||
         plan.reduce == DataParallelPlan::Reduce::last_backward ||
         plan.reduce == DataParallelPlan::Reduce::every_backward;
}

bool leaves_domain(const CommunicationGroup& group) { return group.shape.domains > 1; }

bool passes_use_ports(const StagePlan& plan) {
  const StageCosts& costs = plan.costs;
  return leaves_domain(costs.tensor_group) || leaves_domain(costs.whole_context_group) ||
         leaves_domain(costs.expert_group);
}

}  // namespace

bool is_perturbed(const Job& job, const LoweringOptions& options) {
  return !job.cluster.perturbations().empty() && !options.for_samples;
}

bool replicas_use_ports(const DataParallelPlan& data_parallel, const StagePlan& plan) {
  return overlaps_replicas(data_parallel) && leaves_domain(plan.costs.data_group);
}

namespace {

// True if collectives of a stage's replicas, or transfers between stages, use its ports while its passes run.
bool others_use_ports(const Job& job, const StagePlan& plan) {
  if (job.strategy.pipeline > 1) return true;
  return replicas_use_ports(data_parallel_plan(job), plan);
}

}  // namespace

bool shares_switches_in_passes(const Job& job, std::span<const StagePlan> plans) {
  const bool crosses =
      std::any_of(plans.begin(), plans.end(), [](const StagePlan& plan) { return plan.costs.passes_cross_leaves; });
  return crosses && routes_of(job.network()) != nullptr;
}

bool shares_links_in_passes(const Job& job, std::span<const StagePlan> plans) {
  return shares_switches_in_passes(job, plans) || std::any_of(plans.begin(), plans.end(), [&](const StagePlan& plan) {
           return passes_use_ports(plan) && others_use_ports(job, plan);
         });
}

namespace {

// True if passes share links with collectives of their replicas only, and only where these collectives cut the passes.
// Then there are no transfers; the time by which a collective outlasts its pass does not reach into another pass; and
// at most one of a pass's kinds of exchanges, which could overlap on their own streams, leaves a scale-up domain.
bool shares_links_where_cut(const Job& job, std::span<const StagePlan> plans) {
  if (job.strategy.pipeline > 1 || shares_switches_in_passes(job, plans)) return false;
  for (const StagePlan& plan : plans) {
    const StageCosts& costs = plan.costs;
    const bool leave[] = {leaves_domain(costs.tensor_group), leaves_domain(costs.context_group),
                          leaves_domain(costs.heads_group), leaves_domain(costs.expert_group)};
    if (std::count(std::begin(leave), std::end(leave), true) > 1) return false;
  }
  const DataParallelPlan replicas = data_parallel_plan(job);
  return !replicas.gathers_in_passes() && replicas.reduce != DataParallelPlan::Reduce::every_backward;
}

}  // namespace

LoweringOptions detail_of(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& options) {
  LoweringOptions detail = options;
  detail.whole_teams = false;
  detail.unfolded = options.unfolded || options.whole_teams || !folds(job);
  detail.passes_alone = options.passes_alone || !shares_links_in_passes(job, plans);
  if (detail.passes_alone || options.operators || !shares_links_where_cut(job, plans)) return detail;
  // Each step waits for the slowest rank of a team whose ranks differ; a pass as one task does not show these waits.
  detail.steps_where_cut = folds(job) || expected_tasks(job, plans, detail) > kManyTasks;
  return detail;
}

namespace {

// True if a team of explicit ranks can stand for other teams. False if the activity of one rank depends on ranks of
// several teams.
bool teams_stand_for_others(const Job& job) {
  const Strategy& s = job.strategy;
  const Fabric& fabric = job.cluster.fabric();
  const int together = s.expert_span().data;
  if (!s.stages.empty() || s.data == together || !job.cluster.perturbations().ports.empty()) return false;
  if (fabric.routing == Routing::hashed && may_be_short(fabric)) return false;
  const int team = together * s.team();
  for (int rank = 1; job.cluster.shares_gpus() && rank < static_cast<int>(s.ranks()); ++rank) {
    const bool one_gpu = job.cluster.place_of(rank).gpu == job.cluster.place_of(rank - 1).gpu;
    if (one_gpu && rank / team != (rank - 1) / team) return false;
  }
  return true;
}

}  // namespace

LoweringOptions in_teams(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& detail) {
  LoweringOptions out = detail;
  auto kinds = teams_stand_for_others(job) ? replica_kinds(job, plans) : std::nullopt;
  out.whole_teams = kinds.has_value();
  out.unfolded = !kinds;
  out.kind_of_replica = kinds ? std::move(*kinds) : std::vector<std::uint32_t>();
  return out;
}

bool is_too_large_for_all(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& options,
                          const LoweringOptions& detail) {
  const bool asked = options.unfolded || options.whole_teams || options.operators;
  const Fabric& fabric = job.cluster.fabric();
  if (asked || detail.folded() || (fabric.routing == Routing::hashed && may_be_short(fabric))) return false;
  return expected_tasks(job, plans, detail) > kManyTasksOfUnlikeRanks;
}

bool is_too_large_to_tell_apart(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& detail) {
  return expected_tasks(job, plans, detail) > kManyTasks;
}

std::optional<LoweringOptions> told_apart(const LoweredJob& lowered, const Job& job, std::span<const StagePlan> plans,
                                          std::span<const NetworkLoads::Wire> short_links,
                                          const LoweringOptions& options) {
  if (options.unfolded || options.by_class || short_links.empty()) return std::nullopt;
  LoweringOptions out = options;
  auto kinds = replica_kinds(lowered.program, job, plans, *lowered.loads.routes, short_links);
  if (kinds) {
    if (*kinds == options.kind_of_replica) return std::nullopt;
    out.kind_of_replica = std::move(*kinds);
    return out;
  }
  out.unfolded = options.whole_teams;
  out.whole_teams = false;
  return out.unfolded ? out : in_teams(job, plans, out);
}

}  // namespace mirfak
