#include "engine/perturbed.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

double factor_for(Activity activity, const TimeFactors& factors) {
  const std::optional<std::size_t> factor = time_factor_of(activity);
  return factor ? factors.*kTimeFactorKeys[*factor].value : 1;
}

TimeFactors larger(const TimeFactors& a, const TimeFactors& b) {
  return {std::max(a.compute, b.compute), std::max(a.communication, b.communication), std::max(a.host, b.host)};
}

// Of ranks that act together: each factor that of the slowest; a rank's port counts where they are on several nodes.
TimeFactors factors_together(const Program& program, const Group& group, const Cluster& cluster) {
  const bool leaves = leaves_node(program, group, cluster);
  TimeFactors out{0, 0, 0};
  for (const std::uint32_t rank : group.ranks) {
    RankFactors own = cluster.perturbations().of(static_cast<int>(program.ranks[rank].rank));
    if (leaves) own.time.communication *= own.port;
    out = larger(out, own.time);
  }
  return out;
}

class Perturber {
 public:
  Perturber(Program program, const Cluster& cluster) : program_(std::move(program)) {
    for (const ProgramRank& rank : program_.ranks) {
      of_rank_.push_back(cluster.perturbations().of(static_cast<int>(rank.rank)).time);
    }
    for (const Group& group : program_.groups) of_group_.push_back(factors_together(program_, group, cluster));
  }

  Program run() {
    if (program_.shares_links()) program_.slower.assign(program_.size(), 1);
    CancellationSteps steps;
    for (TaskId task = 0; task < program_.size(); ++task) {
      steps.step();
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

  // Each part of the time by its factor.
  const Stretched& stretched(ClassId of, const TimeFactors& factors) {
    const auto [known, is_new] = known_.try_emplace({of, factors});
    if (!is_new) return known->second;
    TaskClass out = program_.classes[of];
    double before = 0;
    double after = 0;
    for (std::size_t i = 0; i < kActivities; ++i) {
      before += out.activity_s[i];
      after += out.activity_s[i] *= factor_for(static_cast<Activity>(i), factors);
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

bool leaves_node(const Program& program, const Group& group, const Cluster& cluster) {
  const auto node = [&](std::uint32_t rank) {
    return cluster.place_of(static_cast<int>(program.ranks[rank].rank)).node;
  };
  const int first = node(group.ranks.front());
  return std::any_of(group.ranks.begin(), group.ranks.end(), [&](std::uint32_t rank) { return node(rank) != first; });
}

Program perturbed(Program program, const Cluster& cluster) { return Perturber(std::move(program), cluster).run(); }

}  // namespace mirfak
