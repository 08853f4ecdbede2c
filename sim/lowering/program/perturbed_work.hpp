#pragma once

#include "program/rank_factors.hpp"
#include "program/stage_work.hpp"
#include "program/team_writer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

// Teams whose passes are written in steps although each pass could be one task: none, teams whose ranks differ, or all
// teams, because ranks of one team that begin at different times load short links at different times.
enum class WrittenInSteps : std::uint8_t { none, unlike, all };

// The work of teams whose ranks have factors (cluster.perturbations). Work that a rank does alone takes as long as its
// factors say; work that ranks do together takes as long as with the largest of each factor. A pass as one task ends on
// all its ranks when it does on a rank with the largest of their factors: at most some tenths of a percent later than
// in steps, or 2.5 % (of 128 drawn) if one rank's kernels and another's host are slow.
class PerturbedWork {
 public:
  // `of_ranks`: factors_in_passes(). References must outlive this object.
  PerturbedWork(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                std::span<const ActivityFactors> of_ranks, WrittenInSteps steps);

  // A plan, the work of the plan without factors, and the options of that work.
  struct Plan {
    const StagePlan& plan;
    const StageWork& as_priced;
    const LoweringOptions& options;
  };
  // Selects a pass, or a part of a pass, from a plan's work.
  using Select = std::function<const PassWork&(const StageWork&)>;
  TeamWork of(TeamWriter& team, const Plan& plan, const Select& select);

 private:
  using FactorsId = std::uint32_t;
  static constexpr FactorsId kNone = 0;  // all factors are 1
  struct Slowed {
    SlowedPlan plan;
    StageWork work;
    Slowed(const PerturbedWork& of, const Plan& priced, const LoweringOptions& options, const ActivityFactors& factors);
  };

  FactorsId id_of(const ActivityFactors& factors);
  FactorsId join(FactorsId a, FactorsId b);
  FactorsId together(const TeamWriter& team, TeamWork::Lanes lanes);
  bool differ(const TeamWriter& team, TeamWork::Lanes lanes) const;
  bool in_steps(TeamWriter& team, const Plan& plan, const Select& select);
  const StageWork& work(const Plan& plan, FactorsId factors, bool steps);
  const StageWork& work(const Plan& plan, const TeamWriter& team, TeamWork::Lanes lanes, bool steps);

  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  WrittenInSteps steps_;
  std::vector<ActivityFactors> factors_;  // by id
  std::map<ActivityFactors, FactorsId> ids_;
  std::map<std::pair<FactorsId, FactorsId>, FactorsId> joined_;
  std::vector<FactorsId> of_ranks_;
  std::map<std::tuple<const StageWork*, FactorsId, bool>, std::unique_ptr<Slowed>> works_;
  std::map<std::pair<const TeamWriter*, const PassWork*>, bool> in_steps_;
};

}  // namespace mirfak
