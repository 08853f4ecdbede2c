#include "program/perturbed_work.hpp"

#include "program/slowed_plan.hpp"

#include <algorithm>

namespace mirfak {

PerturbedWork::PerturbedWork(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                             std::span<const ActivityFactors> of_ranks, WrittenInSteps steps)
    : program_(program), groups_(groups), job_(job), blocks_(blocks), steps_(steps) {
  id_of(by_activity(TimeFactors{}));  // kNone
  for (const ActivityFactors& factors : of_ranks) of_ranks_.push_back(id_of(factors));
}

PerturbedWork::Slowed::Slowed(const PerturbedWork& of, const Plan& priced, const LoweringOptions& options,
                              const ActivityFactors& factors)
    : plan{factors, slowed(priced.plan, factors)},
      work(of.program_, of.groups_, job_at(of.job_, of.blocks_, priced.plan.stage), of.blocks_.at(priced.plan.stage),
           priced.plan, options, &plan) {}

PerturbedWork::FactorsId PerturbedWork::id_of(const ActivityFactors& factors) {
  const auto [known, is_new] = ids_.try_emplace(factors, static_cast<FactorsId>(factors_.size()));
  if (is_new) factors_.push_back(factors);
  return known->second;
}

PerturbedWork::FactorsId PerturbedWork::join(FactorsId a, FactorsId b) {
  if (a == b) return a;
  const auto [known, is_new] = joined_.try_emplace({a, b}, 0);
  if (is_new) known->second = id_of(larger(factors_[a], factors_[b]));
  return known->second;
}

PerturbedWork::FactorsId PerturbedWork::together(const TeamWriter& team, TeamWork::Lanes lanes) {
  FactorsId out = of_ranks_[team.rank(lanes.front())];
  for (const std::size_t lane : lanes.subspan(1)) out = join(out, of_ranks_[team.rank(lane)]);
  return out;
}

bool PerturbedWork::differ(const TeamWriter& team, TeamWork::Lanes lanes) const {
  return std::any_of(lanes.begin(), lanes.end(), [&](std::size_t lane) {
    return of_ranks_[team.rank(lane)] != of_ranks_[team.rank(lanes.front())];
  });
}

const StageWork& PerturbedWork::work(const Plan& plan, FactorsId factors, bool steps) {
  std::unique_ptr<Slowed>& known = works_[{&plan.as_priced, factors, steps}];
  if (known == nullptr) {
    LoweringOptions options = plan.options;
    options.passes_in_steps = steps;
    known = std::make_unique<Slowed>(*this, plan, options, ActivityFactors(factors_[factors]));
  }
  return known->work;
}

const StageWork& PerturbedWork::work(const Plan& plan, const TeamWriter& team, TeamWork::Lanes lanes, bool steps) {
  const FactorsId factors = together(team, lanes);
  const bool as_priced = factors == kNone && !steps && !differ(team, lanes);
  return as_priced ? plan.as_priced : work(plan, factors, steps);
}

bool PerturbedWork::in_steps(TeamWriter& team, const Plan& plan, const Select& select) {
  const PassWork& as_priced = select(plan.as_priced);
  if (!plan.options.whole_passes() || !as_priced.bodies.empty()) return true;
  if (steps_ == WrittenInSteps::all && team.lanes() > 1) return true;
  const auto& groups = team.lanes_in(as_priced.meets);
  return std::any_of(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& lanes) {
    return (steps_ != WrittenInSteps::none && differ(team, lanes)) ||
           !select(work(plan, team, lanes, false)).bodies.empty();
  });
}

TeamWork PerturbedWork::of(TeamWriter& team, const Plan& plan, const Select& select) {
  const PassWork& as_priced = select(plan.as_priced);
  const auto [known, is_new] = in_steps_.try_emplace({&team, &as_priced}, false);
  if (is_new) known->second = in_steps(team, plan, select);
  const bool steps = known->second;
  // All passes of such plans have bodies anyway.
  const bool of_steps = steps && plan.options.whole_passes();
  return {[this, &team, plan, select, of_steps](TeamWork::Lanes lanes) -> const PassWork& {
            return select(work(plan, team, lanes, of_steps));
          },
          as_priced.meets, steps};
}

}  // namespace mirfak
