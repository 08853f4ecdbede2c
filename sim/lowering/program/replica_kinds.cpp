#include "program/replica_kinds.hpp"

#include "base/coloured_graph.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace mirfak {

namespace {

using VertexKey = ColouredGraph::Key;

// Loads that differ only by rounding get equal keys.
VertexKey key_of_load(double bytes_per_s, double of) {
  constexpr double kSteps = 1e10;
  return static_cast<VertexKey>(std::llround(bytes_per_s / of * kSteps));
}

VertexKey key_of_factors(const RankFactors& factors) {
  VertexKey out = 0;
  for (const double factor : {factors.time.compute, factors.time.communication, factors.time.host, factors.port}) {
    out = mixed(out, std::bit_cast<VertexKey>(factor));
  }
  return out;
}

// The kinds of a job's teams. The replicas of a team run passes together.
class TeamKinds {
 public:
  // `whole_teams`: distinguishes the ranks of a team from each other.
  TeamKinds(const Job& job, std::span<const StagePlan> plans, bool whole_teams)
      : job_(job), whole_teams_(whole_teams), ranks_(static_cast<std::size_t>(job.strategy.ranks())) {
    for (const StagePlan& plan : plans) {
      for (const int replica : plan.replicas.replicas) add_replica(plan, replica);
    }
  }

  void add_links(std::span<const RealGroupLoads> groups, Routes& routes,
                 std::span<const NetworkLoads::Wire> may_be_short) {
    std::map<NetworkLoads::Wire, ColouredGraph::Vertex> links;
    for (const NetworkLoads::Wire wire : may_be_short) {
      links.emplace(wire, graph_.add(mixed(kLink, std::bit_cast<VertexKey>(bytes_per_s(routes, wire)))));
    }
    for (const RealGroupLoads& group : groups) {
      const ColouredGraph::Vertex vertex = graph_.add(mixed(kGroup, group.row));
      for (const int rank : group.ranks) graph_.join(vertex, ranks_[static_cast<std::size_t>(rank)].vertex, kMember);
      for (const RealGroupLoads::Use& use : group.uses) {
        const auto link = links.find(use.wire);
        if (link == links.end()) continue;
        graph_.join(vertex, link->second, key_of_load(use.bytes_per_s, bytes_per_s(routes, use.wire)));
      }
    }
  }

  void divide() { graph_.divide(); }

  // False if ranks differ that a program has to treat as one: the ranks of a team, unless the program has whole teams;
  // the ranks that share a copy of the state; for stages with shapes of their own, all ranks of a stage.
  bool holds() const {
    const Strategy& s = job_.strategy;
    const std::size_t in_step = together() * static_cast<std::size_t>(s.context);
    const std::vector<int> apart = job_.groups_apart();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto differs = [&](std::size_t other) {
        return graph_.colour(ranks_[rank].vertex) != graph_.colour(ranks_[other].vertex);
      };
      if (!s.stages.empty()) {
        if (differs(ranks_[rank].first_of_stage)) return false;
        continue;
      }
      if (!whole_teams_ && differs(first_of(in_step, rank))) return false;
      for (const int size : apart) {
        const std::size_t first = first_of(static_cast<std::size_t>(size), rank);
        if (colour_of_team(ranks_[rank].team) != colour_of_team(ranks_[first].team)) return false;
        if (!whole_teams_ && differs(first)) return false;
      }
    }
    return true;
  }

  // The kind of each replica; empty: all replicas of each class are alike.
  std::vector<std::uint32_t> kinds() const {
    std::vector<std::uint32_t> out;
    std::map<std::uint32_t, std::uint32_t> numbers;
    bool apart = false;
    for (std::size_t replica = 0; replica < first_of_class_.size(); ++replica) {
      const std::uint32_t colour = colour_of_team(replica / together());
      out.push_back(numbers.try_emplace(colour, static_cast<std::uint32_t>(numbers.size())).first->second);
      apart = apart || out[replica] != out[first_of_class_[replica]];
    }
    return apart ? out : std::vector<std::uint32_t>();
  }

 private:
  // The kinds of vertices and of edges.
  enum : VertexKey { kTeam, kRank, kGroup, kLink };
  enum : VertexKey { kInTeam, kMember };
  // A rank of the cluster.
  struct Rank {
    ColouredGraph::Vertex vertex = 0;
    std::size_t team = 0;
    std::size_t first_of_stage = 0;
  };

  static double bytes_per_s(Routes& routes, NetworkLoads::Wire wire) {
    return routes.links()[wire - NetworkLoads::kFabric].bytes_per_s;
  }
  void add_replica(const StagePlan& plan, int replica);
  // Number of replicas of a team.
  std::size_t together() const { return static_cast<std::size_t>(job_.strategy.expert_span().data); }
  std::size_t first_of(std::size_t neighbours, std::size_t rank) const {
    return static_cast<std::size_t>(job_.first_neighbour(static_cast<int>(rank), static_cast<int>(neighbours)));
  }
  std::uint32_t colour_of_team(std::size_t team) const { return graph_.colour(teams_[team]); }

  const Job& job_;
  bool whole_teams_;
  ColouredGraph graph_;
  std::vector<Rank> ranks_;
  std::vector<ColouredGraph::Vertex> teams_;  // each on all stages
  std::vector<std::size_t> first_of_class_;   // for each replica
};

void TeamKinds::add_replica(const StagePlan& plan, int replica) {
  const auto place = static_cast<std::size_t>(replica);
  const std::size_t team = place / together();
  while (teams_.size() <= team) teams_.push_back(graph_.add(mixed(kTeam, 0)));
  first_of_class_.resize(std::max(first_of_class_.size(), place + 1));
  first_of_class_[place] = static_cast<std::size_t>(plan.replicas.first());
  const int members = job_.strategy.shape_of(plan.stage).tensor * job_.strategy.context;
  for (int member = 0; member < members; ++member) {
    const int rank = job_.rank_of(plan.stage, replica, member);
    const std::size_t lane = place % together() * static_cast<std::size_t>(members) + static_cast<std::size_t>(member);
    VertexKey key = mixed(kRank, static_cast<VertexKey>(plan.stage));
    key = mixed(key, static_cast<VertexKey>(plan.replica_class));
    key = mixed(key, key_of_factors(job_.cluster.perturbations().of(rank)));
    const ColouredGraph::Vertex vertex = graph_.add(mixed(key, whole_teams_ ? lane : 0));
    graph_.join(vertex, teams_[team], kInTeam);
    ranks_[static_cast<std::size_t>(rank)] = {vertex, team, static_cast<std::size_t>(job_.first_rank(plan.stage))};
  }
}

}  // namespace

std::vector<ReplicaKind> kinds_within(const StagePlan& plan, std::span<const std::uint32_t> kind_of_replica) {
  if (kind_of_replica.empty()) return {{plan.replicas.first(), plan.replicas.count()}};
  std::vector<ReplicaKind> out;
  std::map<std::uint32_t, std::size_t> places;  // index of each kind in `out`
  for (const int replica : plan.replicas.replicas) {
    const std::uint32_t kind = kind_of_replica[static_cast<std::size_t>(replica)];
    const auto [known, is_new] = places.try_emplace(kind, out.size());
    if (is_new) out.push_back({replica, 0});
    ++out[known->second].count;
  }
  return out;
}

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
  TeamKinds teams(job, plans, program.whole_teams);
  teams.add_links(real_group_loads(program, job, plans, &routes), routes, may_be_short);
  teams.divide();
  if (!teams.holds()) return std::nullopt;
  return teams.kinds();
}

std::optional<std::vector<std::uint32_t>> replica_kinds(const Job& job, std::span<const StagePlan> plans) {
  TeamKinds teams(job, plans, true);
  teams.divide();
  if (!teams.holds()) return std::nullopt;
  return teams.kinds();
}

}  // namespace mirfak
