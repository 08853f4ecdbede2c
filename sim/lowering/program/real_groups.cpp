#include "program/real_groups.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

// Adds all ranks, numbered as ReplicaTeams numbers those of an unfolded program.
void add_all_ranks(Program& program, const Job& job) {
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const StageShape shape = job.strategy.shape_of(stage);
    const int team = shape.tensor * job.strategy.context;
    for (int data = 0; data < shape.data; ++data) {
      for (int member = 0; member < team; ++member) {
        ProgramRank rank;
        rank.rank = static_cast<std::uint32_t>(job.rank_of(stage, data, member));
        rank.stage = static_cast<std::uint32_t>(stage);
        rank.tensor = static_cast<std::uint32_t>(member % shape.tensor);
        rank.context = static_cast<std::uint32_t>(member / shape.tensor);
        rank.data = static_cast<std::uint32_t>(data);
        program.ranks.push_back(rank);
      }
    }
  }
}

RealGroups::Members members_of(const Program& program, GroupId group, int stage) {
  RealGroups::Members out;
  for (const std::uint32_t index : program.groups[group].ranks) {
    const ProgramRank& rank = program.ranks[index];
    (static_cast<int>(rank.stage) == stage ? out.of_stage : out.others).push_back(static_cast<int>(rank.rank));
  }
  return out;
}

// Properties common to the ranks that one rank of a program stands for: the plan, the kind of replica, the place in a
// team.
using Seat = std::array<std::uint32_t, 3>;

// Plan by stage and replica.
using PlansOfReplicas = std::vector<std::vector<std::uint32_t>>;

PlansOfReplicas plans_of_replicas(std::span<const StagePlan> plans) {
  PlansOfReplicas out;
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan) {
    const auto stage = static_cast<std::size_t>(plans[plan].stage);
    out.resize(std::max(out.size(), stage + 1));
    for (const int replica : plans[plan].replicas.replicas) {
      const auto place = static_cast<std::size_t>(replica);
      out[stage].resize(std::max(out[stage].size(), place + 1));
      out[stage][place] = plan;
    }
  }
  return out;
}

Seat seat(const Program& program, const Job& job, const ProgramRank& rank, const PlansOfReplicas& plan_of) {
  const Strategy& s = job.strategy;
  const auto together = static_cast<std::uint32_t>(s.expert_span().data);
  const std::uint32_t in_team = (rank.data % together * static_cast<std::uint32_t>(s.context) + rank.context) *
                                    static_cast<std::uint32_t>(s.tensor) +
                                rank.tensor;
  return {plan_of[rank.stage][rank.data], program.kind_of_replica.empty() ? 0 : program.kind_of_replica[rank.data],
          program.whole_teams ? in_team : 0};
}

}  // namespace

RealGroups::RealGroups(const Program& program, const Job& job, std::span<const StagePlan> plans, bool folded)
    : program_(program), folded_(folded) {
  if (!folded) return;
  add_all_ranks(all_, job);
  real_ = std::make_unique<RankGroups>(all_, job, false);
  standing_for_.resize(all_.ranks.size());
  const PlansOfReplicas plan_of = plans_of_replicas(plans);
  std::map<Seat, std::uint32_t> seats;
  const auto seat_of = [&](const ProgramRank& rank) { return seat(program, job, rank, plan_of); };
  for (std::uint32_t i = 0; i < program.ranks.size(); ++i) seats.try_emplace(seat_of(program.ranks[i]), i);
  for (const ProgramRank& rank : all_.ranks) standing_for_[rank.rank] = seats.at(seat_of(rank));
}

RealGroups::~RealGroups() = default;

void RealGroups::number_ranks() {
  const std::vector<ProgramRank>& all = folded_ ? all_.ranks : program_.ranks;
  cluster_ranks_.resize(all.size());
  index_of_.resize(all.size());
  standing_for_.resize(all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const ProgramRank& rank = all[i];
    cluster_ranks_[rank.rank] = rank;
    index_of_[rank.rank] = i;
    if (!folded_) standing_for_[rank.rank] = i;
  }
}

std::vector<GroupId> RealGroups::groups_of_ranks(GroupingId grouping) {
  const GroupingId real = folded_ ? real_->like(program_.groupings[grouping]) : grouping;
  const std::vector<GroupId>& of_rank = (folded_ ? all_ : program_).groupings[real].of_rank;
  std::vector<GroupId> out;
  out.reserve(index_of_.size());
  for (const std::uint32_t index : index_of_) out.push_back(of_rank[index]);
  return out;
}

std::vector<int> RealGroups::members(GroupId group) const {
  const Program& program = folded_ ? all_ : program_;
  std::vector<int> out;
  for (const std::uint32_t member : program.groups[group].ranks) {
    out.push_back(static_cast<int>(program.ranks[member].rank));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Groups are listed under the rank that stands for their first member on the stage.
const RealGroups::OfRanks& RealGroups::real_groups(GroupingId grouping, int stage) {
  const auto [known, is_new] = real_groups_.try_emplace({grouping, stage});
  OfRanks& out = known->second;
  if (!is_new) return out;
  out.resize(program_.ranks.size());
  const Grouping& real = all_.groupings[real_->like(program_.groupings[grouping])];
  for (GroupId group = real.first; group < real.first + real.count; ++group) {
    for (const std::uint32_t index : all_.groups[group].ranks) {
      const ProgramRank& rank = all_.ranks[index];
      if (static_cast<int>(rank.stage) != stage) continue;
      out[folded_into(rank)].push_back(members_of(all_, group, stage));
      break;
    }
  }
  return out;
}

void RealGroups::for_each(GroupingId grouping, GroupId group, int stage,
                          const std::function<void(const Members&)>& visit) {
  if (!folded_) {
    const Members members = members_of(program_, group, stage);
    if (!members.of_stage.empty()) visit(members);
    return;
  }
  for (const std::uint32_t index : program_.groups[group].ranks) {
    const ProgramRank& rank = program_.ranks[index];
    if (static_cast<int>(rank.stage) != stage) continue;
    for (const Members& members : real_groups(grouping, stage)[index]) visit(members);
  }
}

}  // namespace mirfak
