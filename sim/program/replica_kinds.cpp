#include "program/replica_kinds.hpp"

#include "base/cancellation.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace mirfak {

namespace {

using Colour = std::uint64_t;

// Equal colours of 64 bits are equal neighbourhoods but for one chance in 10^9 with 10^5 nodes.
Colour mixed(Colour x) { return split_mix(x + kSplitMixStep); }

Colour mixed(Colour a, Colour b) { return mixed(mixed(a) ^ b); }

// Loads that differ by rounding are equal.
Colour of_load(double bytes_per_s, double of) {
  constexpr double kSteps = 1e10;
  return static_cast<Colour>(std::llround(bytes_per_s / of * kSteps));
}

// Nodes with coloured neighbours, divided until all of a colour have as many neighbours of each colour and label. Nodes
// of which neighbours change are looked at again, and of a colour that is divided the largest part keeps it: so each
// edge is walked O(log n) times (Cardon and Crochemore, *Partitioning a graph in O(|A| log2 |V|)*, TCS 19, 1982).
class ColouredGraph {
 public:
  using Vertex = std::uint32_t;

  // `key`: what tells vertices apart from the beginning.
  Vertex add(Colour key) {
    const auto [known, is_new] = of_key_.try_emplace(key, static_cast<std::uint32_t>(members_.size()));
    if (is_new) members_.push_back(0);
    ++members_[known->second];
    colour_.push_back(known->second);
    return static_cast<Vertex>(colour_.size() - 1);
  }
  void join(Vertex a, Vertex b, Colour label) { edges_.push_back({a, b, label}); }

  void divide() {
    list_neighbours();
    std::vector<Vertex> changed(colour_.size());
    std::iota(changed.begin(), changed.end(), Vertex{0});
    for (const Vertex vertex : changed) {
      for (const Neighbour& of : neighbours(vertex)) around_[vertex] += mixed(colour_[of.vertex], of.label);
    }
    while (!changed.empty()) {
      check_cancelled();
      changed = affected_by(recoloured(changed));
    }
  }

  std::uint32_t colour(Vertex vertex) const { return colour_[vertex]; }

 private:
  struct Edge {
    Vertex a = 0;
    Vertex b = 0;
    Colour label = 0;
  };
  struct Neighbour {
    Vertex vertex = 0;
    Colour label = 0;
  };
  struct Recoloured {
    Vertex vertex = 0;
    std::uint32_t before = 0;
  };

  void list_neighbours() {
    first_.assign(colour_.size() + 1, 0);
    around_.assign(colour_.size(), 0);
    for (const Edge& edge : edges_) ++first_[edge.a + 1], ++first_[edge.b + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    neighbours_.resize(2 * edges_.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (const Edge& edge : edges_) {
      neighbours_[next[edge.a]++] = {edge.b, edge.label};
      neighbours_[next[edge.b]++] = {edge.a, edge.label};
    }
  }
  std::span<const Neighbour> neighbours(Vertex vertex) const {
    return {neighbours_.data() + first_[vertex], first_[vertex + 1] - first_[vertex]};
  }

  // Divides the colours of vertices whose surroundings have changed. The others of each colour have equal surroundings.
  std::vector<Recoloured> recoloured(std::vector<Vertex>& changed) {
    const auto key = [&](Vertex vertex) { return std::pair(colour_[vertex], around_[vertex]); };
    std::sort(changed.begin(), changed.end(), [&](Vertex a, Vertex b) { return key(a) < key(b); });
    std::vector<Recoloured> out;
    for (auto begin = changed.begin(); begin != changed.end();) {
      const std::uint32_t colour = colour_[*begin];
      const auto end = std::find_if(begin, changed.end(), [&](Vertex vertex) { return colour_[vertex] != colour; });
      divide_colour({begin, end}, out);
      begin = end;
    }
    return out;
  }

  void divide_colour(std::span<const Vertex> changed, std::vector<Recoloured>& out) {
    const std::uint32_t colour = colour_[changed.front()];
    std::vector<std::span<const Vertex>> parts;
    for (std::size_t begin = 0; begin < changed.size();) {
      std::size_t end = begin;
      while (end < changed.size() && around_[changed[end]] == around_[changed[begin]]) ++end;
      parts.push_back(changed.subspan(begin, end - begin));
      begin = end;
    }
    if (changed.size() == members_[colour]) {
      const auto size = [](std::span<const Vertex> a, std::span<const Vertex> b) { return a.size() < b.size(); };
      parts.erase(std::max_element(parts.begin(), parts.end(), size));
    }
    for (const std::span<const Vertex> part : parts) {
      const auto fresh = static_cast<std::uint32_t>(members_.size());
      members_.push_back(static_cast<std::uint32_t>(part.size()));
      members_[colour] -= static_cast<std::uint32_t>(part.size());
      for (const Vertex vertex : part) {
        out.push_back({vertex, colour});
        colour_[vertex] = fresh;
      }
    }
  }

  std::vector<Vertex> affected_by(const std::vector<Recoloured>& recoloured) {
    std::vector<Vertex> out;
    for (const Recoloured& each : recoloured) {
      for (const Neighbour& of : neighbours(each.vertex)) {
        around_[of.vertex] += mixed(colour_[each.vertex], of.label) - mixed(each.before, of.label);
        out.push_back(of.vertex);
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  std::map<Colour, std::uint32_t> of_key_;
  std::vector<std::uint32_t> colour_;   // of each vertex
  std::vector<std::uint32_t> members_;  // of each colour, how many
  std::vector<Edge> edges_;
  std::vector<std::size_t> first_;  // of each vertex, in neighbours_
  std::vector<Neighbour> neighbours_;
  std::vector<Colour> around_;  // of each vertex, the sum over its neighbours
};

Colour of_factors(const RankFactors& factors) {
  Colour out = 0;
  for (const double factor : {factors.time.compute, factors.time.communication, factors.time.host, factors.port}) {
    out = mixed(out, std::bit_cast<Colour>(factor));
  }
  return out;
}

// The kinds of a job's teams: of replicas that run passes together.
class TeamKinds {
 public:
  // `whole_teams`: every rank of a team is told from the others.
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
      links.emplace(wire, graph_.add(mixed(kLink, std::bit_cast<Colour>(bytes_per_s(routes, wire)))));
    }
    for (const RealGroupLoads& group : groups) {
      const ColouredGraph::Vertex vertex = graph_.add(mixed(kGroup, group.row));
      for (const int rank : group.ranks) graph_.join(vertex, ranks_[static_cast<std::size_t>(rank)].vertex, kMember);
      for (const RealGroupLoads::Use& use : group.uses) {
        const auto link = links.find(use.wire);
        if (link == links.end()) continue;
        graph_.join(vertex, link->second, of_load(use.bytes_per_s, bytes_per_s(routes, use.wire)));
      }
    }
  }

  void divide() { graph_.divide(); }

  // False if ranks differ that a program has to take as one: those of a team, unless it has whole teams; those that
  // share a copy of the state; and of stages with shapes of their own all.
  bool holds() const {
    const Strategy& s = job_.strategy;
    const std::size_t in_step = together() * static_cast<std::size_t>(s.context);
    const std::size_t of_copy = s.shards() == s.replicas() ? 1 : static_cast<std::size_t>(s.shards());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto differs = [&](std::size_t other) {
        return graph_.colour(ranks_[rank].vertex) != graph_.colour(ranks_[other].vertex);
      };
      if (!s.stages.empty()) {
        if (differs(ranks_[rank].first_of_stage)) return false;
        continue;
      }
      const std::size_t first_of_copy = first_of(of_copy, rank);
      if (colour_of_team(ranks_[rank].team) != colour_of_team(ranks_[first_of_copy].team)) return false;
      if (!whole_teams_ && (differs(first_of(in_step, rank)) || differs(first_of_copy))) return false;
    }
    return true;
  }

  // By replica.
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
  enum : Colour { kTeam, kRank, kGroup, kLink };
  enum : Colour { kInTeam, kMember };
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
  // The replicas of a team.
  std::size_t together() const { return static_cast<std::size_t>(job_.strategy.expert_span().data); }
  // The first of so many neighbours in the data-parallel groups, counted with context ranks, on all their tensor ranks.
  std::size_t first_of(std::size_t neighbours, std::size_t rank) const {
    const auto tensor = static_cast<std::size_t>(job_.strategy.tensor);
    const std::size_t place = rank / tensor % static_cast<std::size_t>(job_.strategy.replicas());
    return rank - rank % tensor - place % neighbours * tensor;
  }
  std::uint32_t colour_of_team(std::size_t team) const { return graph_.colour(teams_[team]); }

  const Job& job_;
  bool whole_teams_;
  ColouredGraph graph_;
  std::vector<Rank> ranks_;
  std::vector<ColouredGraph::Vertex> teams_;  // on all stages
  std::vector<std::size_t> first_of_class_;   // of each replica
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
    Colour key = mixed(kRank, static_cast<Colour>(plan.stage));
    key = mixed(key, static_cast<Colour>(plan.replica_class));
    key = mixed(key, of_factors(job_.cluster.perturbations().of(rank)));
    const ColouredGraph::Vertex vertex = graph_.add(mixed(key, whole_teams_ ? lane : 0));
    graph_.join(vertex, teams_[team], kInTeam);
    ranks_[static_cast<std::size_t>(rank)] = {vertex, team,
                                              static_cast<std::size_t>(job_.strategy.first_rank(plan.stage))};
  }
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
