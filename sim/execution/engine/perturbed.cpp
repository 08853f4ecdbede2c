#include "engine/perturbed.hpp"

#include "base/cancellation.hpp"
#include "program/rank_factors.hpp"
#include "program/real_groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// The factors that slow the ranks of a program, and the flags of groups that are on several nodes.
struct SlowedRanks {
  std::vector<RankFactors> of_rank;
  std::vector<bool> leaves;
};

SlowedRanks each_for_itself(const Program& program, const Cluster& cluster) {
  SlowedRanks out{factors_of_ranks(program, cluster), {}};
  for (const Group& group : program.groups) out.leaves.push_back(leaves_node(program, group, cluster));
  return out;
}

SlowedRanks slowest_of_all(const Program& program, const Job& job, std::span<const StagePlan> plans) {
  RealGroups real(program, job, plans, true);
  SlowedRanks out{largest_factors(program, job, plans), {}};
  out.leaves.assign(program.groups.size(), false);
  for (GroupingId id = 0; id < program.groupings.size(); ++id) {
    const Grouping& grouping = program.groupings[id];
    for (GroupId group = grouping.first; group < grouping.first + grouping.count; ++group) {
      out.leaves[group] = leaves_node(real, program, id, group, job.cluster);
    }
  }
  return out;
}

// Returns the factors of ranks that act together: each factor is that of the slowest rank; a rank's port counts if the
// group is on several nodes.
TimeFactors factors_together(const Group& group, const SlowedRanks& slowed, bool leaves) {
  TimeFactors out{0, 0, 0};
  for (const std::uint32_t rank : group.ranks) {
    RankFactors own = slowed.of_rank[rank];
    if (leaves) own.time.communication *= own.port;
    out = larger(out, own.time);
  }
  return out;
}

class Perturber {
 public:
  Perturber(Program program, const SlowedRanks& slowed) : program_(std::move(program)) {
    for (const RankFactors& factors : slowed.of_rank) of_rank_.push_back(factors.time);
    for (std::size_t group = 0; group < program_.groups.size(); ++group) {
      of_group_.push_back(factors_together(program_.groups[group], slowed, slowed.leaves[group]));
    }
  }

  Program run() {
    if (program_.shares_links()) program_.slower.assign(program_.size(), 1);
    CancellationSteps steps;
    for (TaskId task = 0; task < program_.size(); ++task) {
      steps.step();
      if (program_.class_of(task).slowed) continue;
      const GroupId group = program_.group_of(task);
      const TimeFactors& factors = group == kNoGroup ? of_rank_[program_.rank_of(task)] : of_group_[group];
      if (factors == TimeFactors{}) continue;
      const Stretched& own = stretched(program_.task_class[task], factors);
      const double lasting = static_cast<double>(program_.duration[task]) * own.by;
      program_.duration[task] = static_cast<Picoseconds>(std::llround(lasting));
      program_.task_class[task] = own.task_class;
      if (!program_.slower.empty()) program_.slower[task] = own.by;
    }
    return std::move(program_);
  }

 private:
  struct Stretched {
    ClassId task_class = 0;
    double by = 1;
  };

  // Stretches each part of the time of a class by its factor.
  const Stretched& stretched(ClassId of, const TimeFactors& factors) {
    const auto [known, is_new] = known_.try_emplace({of, factors});
    if (!is_new) return known->second;
    TaskClass out = program_.classes[of];
    const ActivityFactors longer = by_activity(factors);
    double before = 0;
    double after = 0;
    for (std::size_t i = 0; i < kActivities; ++i) {
      before += out.activity_s[i];
      after += out.activity_s[i] *= longer[i];
    }
    const double by = before > 0 ? after / before : 1;
    return known->second = {by == 1 ? of : program_.add_class(std::move(out)), by};
  }

  Program program_;
  std::vector<TimeFactors> of_rank_;
  std::vector<TimeFactors> of_group_;
  std::map<std::pair<ClassId, TimeFactors>, Stretched> known_;
};

}  // namespace

Program perturbed(Program program, const Cluster& cluster) {
  const SlowedRanks slowed = each_for_itself(program, cluster);
  return Perturber(std::move(program), slowed).run();
}

Program perturbed_by_slowest(Program program, const Job& job, std::span<const StagePlan> plans) {
  const SlowedRanks slowed = slowest_of_all(program, job, plans);
  return Perturber(std::move(program), slowed).run();
}

}  // namespace mirfak
