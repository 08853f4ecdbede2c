#include "simulation/network_use.hpp"

#include "base/cancellation.hpp"
#include "network/cluster_routes.hpp"
#include "program/replica_kinds.hpp"
#include "program/shared_links.hpp"
#include "simulation/long_iteration.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// One of the places that a link of a program stands for.
struct Placed {
  std::size_t kind = 0;    // index into NetworkUse::kinds
  double links = 0;        // number on the cluster
  double bytes_per_s = 0;  // bandwidth of each of these
  double share = 0;        // `bytes` of all of them over the bytes that the entry carries
};

class Kinds {
 public:
  explicit Kinds(NetworkUse& use) : use_(use) {}

  std::vector<Placed> places_of(LinkId id) {
    const Link& link = use_.program.links[id];
    std::vector<Placed> out;
    for (const LinkPlace& place : link.stands_for) out.push_back(placed(place, link.bytes_per_s));
    if (out.empty()) out.push_back({kind(link.name, 0), 1, link.bytes_per_s, 1});
    return out;
  }

  // Returns all places that no link of the program stands for: no traffic crosses them.
  std::vector<Placed> idle() {
    std::set<std::pair<LinkKind, std::uint32_t>> used;
    for (const Link& link : use_.program.links) {
      for (const LinkPlace& place : link.stands_for) used.emplace(place.kind, place.index);
    }
    std::vector<Placed> out;
    const auto add = [&](LinkPlace place, double bytes_per_s) {
      if (!used.contains({place.kind, place.index})) out.push_back(placed(place, bytes_per_s));
    };
    for (std::uint32_t i = 0; i < use_.program.ranks.size(); ++i) {
      add({LinkKind::port_out, i}, use_.places.port_share[i]);
      add({LinkKind::port_in, i}, use_.places.port_share[i]);
    }
    for (std::uint32_t i = 0; i < routes()->links().size(); ++i) {
      add({LinkKind::fabric, i}, routes()->links()[i].bytes_per_s);
    }
    return out;
  }

  // Returns the order of kinds: ports first, then by the first link of a kind in the network's order.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < firsts_.size(); ++i) out.push_back(i);
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return firsts_[a] < firsts_[b]; });
    return out;
  }

 private:
  // Returns one place of a link of `bytes_per_s`.
  Placed placed(const LinkPlace& place, double bytes_per_s) {
    if (place.kind == LinkKind::fabric) {
      const RoutedLink& routed = routes()->links()[place.index];
      const double count = routed.count;
      return {kind(fabric_kind(routed), place.index), count, bytes_per_s / count, 1};
    }
    const double ranks = use_.program.ranks[place.index].multiplicity;
    return {kind(place.kind == LinkKind::port_out ? kPortsOut : kPortsIn, 0), ranks, bytes_per_s, ranks};
  }

  Routes* routes() {
    if (routes_ == nullptr) routes_ = all_routes_of(use_.places.network);
    return routes_;
  }
  std::string fabric_kind(const RoutedLink& link) {
    if (!fabric_) fabric_ = std::make_unique<FabricKinds>(use_.places.network);
    return fabric_->of(link);
  }
  std::size_t kind(const std::string& name, std::uint32_t place) {
    const std::pair<int, std::uint32_t> first(name == kPortsOut ? 0 : name == kPortsIn ? 1 : 2, place);
    const auto [known, is_new] = known_.try_emplace(name, use_.kinds.size());
    if (is_new) {
      use_.kinds.emplace_back();
      use_.kinds.back().kind = name;
      use_.kinds.back().least_bytes_per_s = std::numeric_limits<double>::infinity();
      firsts_.push_back(first);
    } else {
      firsts_[known->second] = std::min(firsts_[known->second], first);
    }
    return known->second;
  }

  NetworkUse& use_;
  Routes* routes_ = nullptr;
  std::unique_ptr<FabricKinds> fabric_;
  std::map<std::string, std::size_t> known_;
  std::vector<std::pair<int, std::uint32_t>> firsts_;
};

// Sums over the links of each kind. The time that a link adds is divided among the places that it stands for: all of
// them are equally short.
class KindSums {
 public:
  explicit KindSums(NetworkUse& use) : kinds_(use), use_(use), seconds_(to_seconds(use.to - use.from)) {}

  void add(const LinkUsage& usage) {
    const std::vector<Placed> places = kinds_.places_of(usage.link);
    std::vector<std::size_t> own;
    double count = 0;
    for (const Placed& place : places) {
      LinkKindUse& kind = count_in(place);
      kind.bytes += usage.bytes * place.share;
      kind.peak_use = std::max(kind.peak_use, usage.peak_use);
      count += place.links;
      if (std::find(own.begin(), own.end(), place.kind) == own.end()) own.push_back(place.kind);
      if (!usage.held.empty()) bind(usage, place, kind);
    }
    hold(usage, places, own);
    std::string names;
    for (const std::size_t kind : own) names += (names.empty() ? "" : " and ") + use_.kinds[kind].kind;
    use_.kind_of_link.push_back(std::move(names));
    use_.count.push_back(count);
  }

  void add_idle() {
    for (const Placed& place : kinds_.idle()) count_in(place);
  }

  void finish() {
    for (std::size_t i = 0; i < use_.kinds.size(); ++i) {
      use_.kinds[i].mean_use = use_.kinds[i].bytes / could_[i];
      use_.kinds[i].slowed = slowed_by_name(use_.program, std::move(held_[i]), use_.owners);
      use_.slowed_s += added_by(use_.kinds[i].slowed);
    }
    std::vector<LinkKindUse> ordered;
    for (const std::size_t kind : kinds_.order()) ordered.push_back(std::move(use_.kinds[kind]));
    use_.kinds = std::move(ordered);
  }

 private:
  LinkKindUse& count_in(const Placed& place) {
    could_.resize(use_.kinds.size());
    held_.resize(use_.kinds.size());
    LinkKindUse& kind = use_.kinds[place.kind];
    kind.links += place.links;
    kind.least_bytes_per_s = std::min(kind.least_bytes_per_s, place.bytes_per_s);
    kind.most_bytes_per_s = std::max(kind.most_bytes_per_s, place.bytes_per_s);
    could_[place.kind] += place.links * place.bytes_per_s * seconds_;
    return kind;
  }

  static void bind(const LinkUsage& usage, const Placed& place, LinkKindUse& kind) {
    kind.binding_links += place.links;
    kind.binds_s = std::max(kind.binds_s, usage.binds_s);
    if (usage.most_asked <= kind.most_asked) return;
    kind.most_asked = usage.most_asked;
    kind.asking = usage.asking;
  }

  void hold(const LinkUsage& usage, const std::vector<Placed>& places, const std::vector<std::size_t>& own) {
    for (const std::size_t kind : own) {
      const auto of_kind = static_cast<double>(
          std::count_if(places.begin(), places.end(), [&](const Placed& place) { return place.kind == kind; }));
      for (HeldActivity each : usage.held) {
        const double share = of_kind / static_cast<double>(places.size());
        each.slowed_s *= share;
        for (double& seconds : each.by) seconds *= share;
        held_[kind].push_back(each);
      }
    }
  }

  Kinds kinds_;
  NetworkUse& use_;
  double seconds_;
  std::vector<double> could_;  // bytes that all links of a kind could have moved
  std::vector<std::vector<HeldActivity>> held_;
};

// Returns the devices that a rank stands for.
std::vector<int> devices_of(const Simulation& simulation, const ProgramRank& rank) {
  std::vector<int> out = ranks_of(simulation.program, simulation.job, simulation.plans, rank);
  for (int& device : out) device = simulation.job.device_of(device);
  return out;
}

}  // namespace

NetworkPlaces network_places(const Simulation& simulation) {
  NetworkPlaces out{simulation.job.network(), {}, {}};
  for (const ProgramRank& rank : simulation.program.ranks) {
    out.port_share.push_back(simulation.plans[rank.plan].costs.communication.port_share());
    out.devices.push_back(devices_of(simulation, rank));
  }
  return out;
}

NetworkUse network_use(Program program, const Timeline& timeline, NetworkPlaces places, LinkScope scope, bool whole) {
  NetworkUse use{std::move(program),
                 std::move(places),
                 scope.from,
                 scope.to.value_or(timeline.makespan),
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 0};
  use.links = link_usage(use.program, timeline, scope);
  use.owners = std::move(scope.owners);
  KindSums sums(use);
  for (const LinkUsage& usage : use.links) {
    check_cancelled();
    sums.add(usage);
  }
  if (whole) sums.add_idle();
  sums.finish();
  use.binding = binding_links(use.program, use.links);
  return use;
}

NetworkUse network_use(const Simulation& simulation) {
  check_cancelled();
  require_whole(simulation, "the use of links over time");
  return network_use(simulation.program, simulation.timeline, network_places(simulation), {}, false);
}

NetworkUse whole_network_use(const Simulation& simulation, LoweringOptions options) {
  options.all_links = true;
  require_whole(simulation, "the use of links over time");
  return network_use(simulation.lowered_as(options), simulation.timeline, network_places(simulation), {}, true);
}

double unbound_iteration_s(const Simulation& simulation) {
  if (!simulation.program.shares_links()) return to_seconds(simulation.timeline.makespan);
  check_cancelled();
  Program program = simulation.program;
  remove_links(program);
  return to_seconds(simulation.times_of(program).makespan);
}

bool links_may_bind(const Simulation& simulation) {
  const Cluster& cluster = simulation.job.cluster;
  return simulation.program.shares_links() || (may_be_short(cluster.fabric()) && cluster.nodes() > 1);
}

}  // namespace mirfak
