#include "program/replica_kinds.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
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

class Refinement {
 public:
  Refinement(const Program& folded, const Job& job, std::span<const StagePlan> plans, Routes& routes,
             std::span<const NetworkLoads::Wire> may_be_short)
      : job_(job), groups_(real_group_loads(folded, job, plans, &routes)) {
    number_ranks(plans);
    std::map<NetworkLoads::Wire, std::uint32_t> links;
    for (const NetworkLoads::Wire wire : may_be_short) {
      const double bytes_per_s = routes.links()[wire - NetworkLoads::kFabric].bytes_per_s;
      links.emplace(wire, static_cast<std::uint32_t>(links_.size()));
      links_.push_back(mixed(static_cast<Colour>(std::llround(bytes_per_s))));
      bytes_per_s_.push_back(bytes_per_s);
    }
    for (std::uint32_t group = 0; group < groups_.size(); ++group) {
      of_groups_.push_back(mixed(groups_[group].row));
      for (const RealGroupLoads::Use& use : groups_[group].uses) {
        const auto link = links.find(use.wire);
        if (link == links.end()) continue;
        uses_.push_back({group, link->second, of_load(use.bytes_per_s, bytes_per_s_[link->second])});
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

  // False if ranks that run passes together, or share a copy of the state, differ; of stages with shapes of their own,
  // any ranks of one.
  bool teams_are_alike() const {
    const Strategy& s = job_.strategy;
    const std::size_t in_step = static_cast<std::size_t>(s.expert_span().data * s.context);
    const std::size_t of_copy = s.shards() == s.replicas() ? 1 : static_cast<std::size_t>(s.shards());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const bool shaped = !s.stages.empty();
      if (shaped && ranks_[rank] != ranks_[first_of_stage_[rank]]) return false;
      if (!shaped && ranks_[rank] != ranks_[first_of(in_step, rank)]) return false;
      if (!shaped && ranks_[rank] != ranks_[first_of(of_copy, rank)]) return false;
    }
    return true;
  }

  std::vector<std::uint32_t> kinds() const {
    std::vector<std::uint32_t> out;
    std::map<Colour, std::uint32_t> numbers;
    bool apart = false;
    for (std::size_t replica = 0; replica < replicas_.size(); ++replica) {
      out.push_back(numbers.try_emplace(replicas_[replica], static_cast<std::uint32_t>(numbers.size())).first->second);
      const std::size_t alike = first_of_class_[replica];
      apart = apart || out[replica] != out[alike];
    }
    return apart ? out : std::vector<std::uint32_t>();
  }

 private:
  struct Use {
    std::uint32_t group = 0;
    std::uint32_t link = 0;
    Colour load = 0;
  };

  void number_ranks(std::span<const StagePlan> plans);
  // The first of so many neighbours in the data-parallel groups, counted with context ranks, on all their tensor ranks.
  std::size_t first_of(std::size_t neighbours, std::size_t rank) const {
    const auto tensor = static_cast<std::size_t>(job_.strategy.tensor);
    const std::size_t place = rank / tensor % static_cast<std::size_t>(job_.strategy.replicas());
    return rank - rank % tensor - place % neighbours * tensor;
  }
  std::size_t count() const { return count_of(links_) + count_of(of_groups_) + count_of(ranks_) + count_of(replicas_); }
  void divide();

  const Job& job_;
  std::vector<RealGroupLoads> groups_;
  std::vector<Use> uses_;
  std::vector<double> bytes_per_s_;          // of each link
  std::vector<std::size_t> replica_of_;      // of each rank of the cluster
  std::vector<std::size_t> first_of_stage_;  // of each rank the first of its stage
  std::vector<std::size_t> first_of_class_;  // of each replica
  std::vector<Colour> links_;
  std::vector<Colour> of_groups_;
  std::vector<Colour> ranks_;
  std::vector<Colour> replicas_;
};

void Refinement::number_ranks(std::span<const StagePlan> plans) {
  const auto all = static_cast<std::size_t>(job_.strategy.ranks());
  ranks_.resize(all);
  replica_of_.resize(all);
  first_of_stage_.resize(all);
  for (const StagePlan& plan : plans) {
    const int team = job_.strategy.shape_of(plan.stage).tensor * job_.strategy.context;
    for (const int replica : plan.replicas.replicas) {
      const auto place = static_cast<std::size_t>(replica);
      replicas_.resize(std::max(replicas_.size(), place + 1));
      first_of_class_.resize(replicas_.size());
      first_of_class_[place] = static_cast<std::size_t>(plan.replicas.first());
      replicas_[place] = mixed(static_cast<Colour>(plan.replica_class));
      for (int member = 0; member < team; ++member) {
        const auto rank = static_cast<std::size_t>(job_.rank_of(plan.stage, replica, member));
        ranks_[rank] = mixed(static_cast<Colour>(plan.stage), static_cast<Colour>(plan.replica_class));
        replica_of_[rank] = place;
        first_of_stage_[rank] = static_cast<std::size_t>(job_.strategy.first_rank(plan.stage));
      }
    }
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
  std::vector<Colour> replicas(replicas_.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Colour members = 0;
    for (const int rank : groups_[group].ranks) {
      members += mixed(ranks_[static_cast<std::size_t>(rank)], 1);
      ranks[static_cast<std::size_t>(rank)] += mixed(of_groups_[group], 2);
    }
    groups[group] += mixed(members, 3);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    replicas[replica_of_[rank]] += mixed(ranks_[rank], 4);
    ranks[rank] += mixed(replicas_[replica_of_[rank]], 5);
  }
  const auto join = [](std::vector<Colour>& colours, const std::vector<Colour>& neighbours) {
    for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = mixed(colours[i], neighbours[i]);
  };
  join(links_, links);
  join(of_groups_, groups);
  join(ranks_, ranks);
  join(replicas_, replicas);
}

}  // namespace

std::vector<int> replicas_of(const Program& folded, std::span<const StagePlan> plans, const ProgramRank& rank) {
  std::vector<int> out = plans[rank.plan].replicas.replicas;
  const std::vector<std::uint32_t>& kinds = folded.kind_of_replica;
  if (kinds.empty()) return out;
  std::erase_if(out, [&](int replica) { return kinds[static_cast<std::size_t>(replica)] != kinds[rank.data]; });
  return out;
}

std::optional<std::vector<std::uint32_t>> replica_kinds(const Program& folded, const Job& job,
                                                        std::span<const StagePlan> plans, Routes& routes,
                                                        std::span<const NetworkLoads::Wire> may_be_short) {
  Refinement refinement(folded, job, plans, routes, may_be_short);
  refinement.run();
  if (!refinement.teams_are_alike()) return std::nullopt;
  return refinement.kinds();
}

}  // namespace mirfak
