#include "program/replica_kinds.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace mirfak {

namespace {

using Colour = std::uint64_t;

// SplitMix64's finalizer: equal colours of 64 bits are equal neighbourhoods but for one chance in 10^9 with 10^5 nodes.
Colour mixed(Colour x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

Colour mixed(Colour a, Colour b) { return mixed(mixed(a) ^ b); }

// Loads that differ by rounding are equal.
Colour of_load(double bytes_per_s, double of) {
  constexpr double kSteps = 1e10;
  return static_cast<Colour>(std::llround(bytes_per_s / of * kSteps));
}

std::size_t count_of(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

Colour of_factors(const RankFactors& factors) {
  Colour out = 0;
  for (const double factor : {factors.time.compute, factors.time.communication, factors.time.host, factors.port}) {
    out = mixed(out, std::bit_cast<Colour>(factor));
  }
  return out;
}

class Refinement {
 public:
  // `whole_teams`: every rank of a team is told from the others.
  Refinement(const Job& job, std::span<const StagePlan> plans, bool whole_teams)
      : job_(job), whole_teams_(whole_teams) {
    ranks_.resize(static_cast<std::size_t>(job.strategy.ranks()));
    team_of_.resize(ranks_.size());
    first_of_stage_.resize(ranks_.size());
    for (const StagePlan& plan : plans) {
      for (const int replica : plan.replicas.replicas) add_replica(plan, replica);
    }
  }

  void add_links(std::vector<RealGroupLoads> groups, Routes& routes, std::span<const NetworkLoads::Wire> may_be_short) {
    groups_ = std::move(groups);
    std::map<NetworkLoads::Wire, std::uint32_t> links;
    std::vector<double> bytes_per_s;
    for (const NetworkLoads::Wire wire : may_be_short) {
      bytes_per_s.push_back(routes.links()[wire - NetworkLoads::kFabric].bytes_per_s);
      links.emplace(wire, static_cast<std::uint32_t>(links_.size()));
      links_.push_back(mixed(static_cast<Colour>(std::llround(bytes_per_s.back()))));
    }
    for (std::uint32_t group = 0; group < groups_.size(); ++group) {
      of_groups_.push_back(mixed(groups_[group].row));
      for (const RealGroupLoads::Use& use : groups_[group].uses) {
        const auto link = links.find(use.wire);
        if (link == links.end()) continue;
        uses_.push_back({group, link->second, of_load(use.bytes_per_s, bytes_per_s[link->second])});
      }
    }
  }

  void run() {
    std::size_t before = 0;
    for (std::size_t colours = count(); colours != before; colours = count()) {
      before = colours;
      check_cancelled();
      divide();
    }
  }

  // False if ranks differ that a program has to take as one: those of a team, unless it has whole teams; those that
  // share a copy of the state; and of stages with shapes of their own all.
  bool holds() const {
    const Strategy& s = job_.strategy;
    const std::size_t in_step = static_cast<std::size_t>(s.expert_span().data * s.context);
    const std::size_t of_copy = s.shards() == s.replicas() ? 1 : static_cast<std::size_t>(s.shards());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto differs = [&](std::size_t other) { return ranks_[rank] != ranks_[other]; };
      const auto of_other_kind = [&](std::size_t other) { return teams_[team_of_[rank]] != teams_[team_of_[other]]; };
      if (!s.stages.empty()) {
        if (differs(first_of_stage_[rank])) return false;
        continue;
      }
      if (of_other_kind(first_of(of_copy, rank))) return false;
      if (!whole_teams_ && (differs(first_of(in_step, rank)) || differs(first_of(of_copy, rank)))) return false;
    }
    return true;
  }

  // By replica.
  std::vector<std::uint32_t> kinds() const {
    std::vector<std::uint32_t> out;
    std::map<Colour, std::uint32_t> numbers;
    bool apart = false;
    for (std::size_t replica = 0; replica < first_of_class_.size(); ++replica) {
      const Colour colour = teams_[replica / together()];
      out.push_back(numbers.try_emplace(colour, static_cast<std::uint32_t>(numbers.size())).first->second);
      apart = apart || out[replica] != out[first_of_class_[replica]];
    }
    return apart ? out : std::vector<std::uint32_t>();
  }

 private:
  struct Use {
    std::uint32_t group = 0;
    std::uint32_t link = 0;
    Colour load = 0;
  };

  void add_replica(const StagePlan& plan, int replica);
  // The replicas of a team.
  std::size_t together() const { return static_cast<std::size_t>(job_.strategy.expert_span().data); }
  // The first of so many neighbours in the data-parallel groups, counted with context ranks, on all their tensor ranks.
  std::size_t first_of(std::size_t neighbours, std::size_t rank) const {
    const auto tensor = static_cast<std::size_t>(job_.strategy.tensor);
    const std::size_t place = rank / tensor % static_cast<std::size_t>(job_.strategy.replicas());
    return rank - rank % tensor - place % neighbours * tensor;
  }
  std::size_t count() const { return count_of(links_) + count_of(of_groups_) + count_of(ranks_) + count_of(teams_); }
  void divide();

  const Job& job_;
  bool whole_teams_;
  std::vector<RealGroupLoads> groups_;
  std::vector<Use> uses_;
  std::vector<std::size_t> team_of_;         // of each rank of the cluster
  std::vector<std::size_t> first_of_stage_;  // of each rank the first of its stage
  std::vector<std::size_t> first_of_class_;  // of each replica
  std::vector<Colour> links_;
  std::vector<Colour> of_groups_;
  std::vector<Colour> ranks_;
  std::vector<Colour> teams_;  // on all stages
};

void Refinement::add_replica(const StagePlan& plan, int replica) {
  const auto place = static_cast<std::size_t>(replica);
  const std::size_t team = place / together();
  first_of_class_.resize(std::max(first_of_class_.size(), place + 1));
  first_of_class_[place] = static_cast<std::size_t>(plan.replicas.first());
  teams_.resize(std::max(teams_.size(), team + 1));
  const int members = job_.strategy.shape_of(plan.stage).tensor * job_.strategy.context;
  for (int member = 0; member < members; ++member) {
    const auto rank = static_cast<std::size_t>(job_.rank_of(plan.stage, replica, member));
    const std::size_t lane = place % together() * static_cast<std::size_t>(members) + static_cast<std::size_t>(member);
    const Colour of_plan = mixed(static_cast<Colour>(plan.stage), static_cast<Colour>(plan.replica_class));
    const Colour of_rank = of_factors(job_.cluster.perturbations().of(static_cast<int>(rank)));
    ranks_[rank] = mixed(mixed(of_plan, of_rank), whole_teams_ ? lane : 0);
    team_of_[rank] = team;
    first_of_stage_[rank] = static_cast<std::size_t>(job_.strategy.first_rank(plan.stage));
  }
}

// Each colour becomes that of a node and of its neighbours.
void Refinement::divide() {
  std::vector<Colour> links(links_.size());
  std::vector<Colour> groups(of_groups_.size());
  for (const Use& use : uses_) {
    links[use.link] += mixed(of_groups_[use.group], use.load);
    groups[use.group] += mixed(links_[use.link], use.load);
  }
  std::vector<Colour> ranks(ranks_.size());
  std::vector<Colour> teams(teams_.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Colour members = 0;
    for (const int rank : groups_[group].ranks) {
      members += mixed(ranks_[static_cast<std::size_t>(rank)], 1);
      ranks[static_cast<std::size_t>(rank)] += mixed(of_groups_[group], 2);
    }
    groups[group] += mixed(members, 3);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    teams[team_of_[rank]] += mixed(ranks_[rank], 4);
    ranks[rank] += mixed(teams_[team_of_[rank]], 5);
  }
  const auto join = [](std::vector<Colour>& colours, const std::vector<Colour>& neighbours) {
    for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = mixed(colours[i], neighbours[i]);
  };
  join(links_, links);
  join(of_groups_, groups);
  join(ranks_, ranks);
  join(teams_, teams);
}

}  // namespace

std::vector<int> replicas_of(const Program& program, std::span<const StagePlan> plans, const ProgramRank& rank) {
  std::vector<int> out = plans[rank.plan].replicas.replicas;
  const std::vector<std::uint32_t>& kinds = program.kind_of_replica;
  if (kinds.empty()) return out;
  std::erase_if(out, [&](int replica) { return kinds[static_cast<std::size_t>(replica)] != kinds[rank.data]; });
  return out;
}

std::vector<int> ranks_of(const Program& program, const Job& job, std::span<const StagePlan> plans,
                          const ProgramRank& rank) {
  if (rank.multiplicity == 1) return {static_cast<int>(rank.rank)};
  const auto stage = static_cast<int>(rank.stage);
  const StageShape shape = job.strategy.shape_of(stage);
  const int own = static_cast<int>(rank.context) * shape.tensor + static_cast<int>(rank.tensor);
  const int together = job.strategy.expert_span().data;
  std::vector<int> out;
  for (const int replica : replicas_of(program, plans, rank)) {
    if (program.whole_teams) {
      if (replica % together == static_cast<int>(rank.data) % together) out.push_back(job.rank_of(stage, replica, own));
      continue;
    }
    for (int member = 0; member < shape.tensor * job.strategy.context; ++member) {
      out.push_back(job.rank_of(stage, replica, member));
    }
  }
  return out;
}

std::optional<std::vector<std::uint32_t>> replica_kinds(const Program& program, const Job& job,
                                                        std::span<const StagePlan> plans, Routes& routes,
                                                        std::span<const NetworkLoads::Wire> may_be_short) {
  Refinement refinement(job, plans, program.whole_teams);
  refinement.add_links(real_group_loads(program, job, plans, &routes), routes, may_be_short);
  refinement.run();
  if (!refinement.holds()) return std::nullopt;
  return refinement.kinds();
}

std::optional<std::vector<std::uint32_t>> replica_kinds(const Job& job, std::span<const StagePlan> plans) {
  Refinement refinement(job, plans, true);
  refinement.run();
  if (!refinement.holds()) return std::nullopt;
  return refinement.kinds();
}

}  // namespace mirfak
