// Classes are found by comparing signatures: all properties that decide the price and the order of a replica's passes.
// Activities of several replicas have to look the same from every member of a class, else the members would not stay
// alike. This is true for groups of all replicas, and for groups with one member in each block of neighbours (holders
// of the same experts, or of the same shard) if every block lies within one class.

#include "program/replica_classes.hpp"

#include "base/error.hpp"
#include "cost/collective_model.hpp"
#include "network/cluster_routes.hpp"
#include "program/job_network.hpp"
#include "program/replica_placement.hpp"
#include "program/staggered_start.hpp"
#include "sharding/axis_rules.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

// Placement of a group, as far as prices depend on it. The last value is true if the group spans several scale-up
// domains.
using GroupShape = std::tuple<int, int, bool, bool>;

struct StageSignature {
  int hardware = 0;  // first of the cluster's entries that has the same hardware
  RankFactors factors;
  std::vector<GroupShape> places;

  friend bool operator==(const StageSignature&, const StageSignature&) = default;
};

struct Signature {
  int microbatches = 0;
  int stagger_group = 0;
  std::vector<int> stages;  // numbers of the stages' signatures

  friend bool operator==(const Signature&, const Signature&) = default;
};

int first_alike(const Cluster& cluster, int device) {
  const auto groups = cluster.groups();
  const NodeGroup& own = cluster.group_of(device);
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const NodeGroup& group) { return same_hardware(group, own); });
  return static_cast<int>(found - groups.begin());
}

bool one_hardware(const Cluster& cluster) {
  const auto groups = cluster.groups();
  return std::all_of(groups.begin(), groups.end(),
                     [&](const NodeGroup& group) { return same_hardware(group, groups.front()); });
}

bool even(const Strategy& strategy) {
  const std::vector<int>& counts = strategy.replica_microbatches;
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

// A node group between a stage's first rank and its last whose hardware differs from that of the last; null: all are
// alike.
const NodeGroup* unlike_last(const Job& job, int stage) {
  const auto groups = job.cluster.groups();
  const auto from = static_cast<std::size_t>(job.cluster.place_of(job.first_rank(stage)).group);
  const auto to = static_cast<std::size_t>(job.cluster.place_of(job.last_rank(stage)).group);
  for (std::size_t group = from; group < to; ++group) {
    if (!same_hardware(groups[group], groups[to])) return &groups[group];
  }
  return nullptr;
}

// True if the ranks of each replica, which are consecutive in the order data_last, begin at the same places in nodes
// and domains.
bool begin_alike(const Job& job) {
  const int ranks = job.strategy.team() * job.strategy.pipeline;
  const auto divided_alike = [&](int gpus) { return gpus % ranks == 0 || ranks % gpus == 0; };
  return std::ranges::all_of(job.cluster.groups(), [&](const NodeGroup& nodes) {
    return divided_alike(nodes.hardware.spec.gpus) && divided_alike(nodes.hardware.spec.scale_up_domain);
  });
}

// True if all replicas are one class: each stage has one type of hardware, and replicas whose stages are neighbours are
// placed alike.
bool uniform(const Job& job) {
  if (!even(job.strategy)) return false;
  if (job.strategy.rank_order == RankOrder::data_last && !begin_alike(job)) return false;
  if (one_hardware(job.cluster)) return true;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    if (unlike_last(job, stage) != nullptr) return false;
  }
  return true;
}

void check_shaped_stages(const Job& job) {
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const NodeGroup* nodes = unlike_last(job, stage);
    if (nodes == nullptr) continue;
    const NodeGroup& last = job.cluster.group_of(job.last_rank(stage));
    fail_infeasible(
        {},
        fmt::format("pipeline stage {} of its own shape, ranks {} to {}, lies on {} and {}", stage,
                    job.first_rank(stage), job.last_rank(stage), nodes->hardware.name(), last.hardware.name()),
        "give each of strategy.stages nodes of one type and one kind of GPU, in the order of cluster.nodes");
  }
}

GroupShape place_of(const Job& job, const std::vector<int>& ranks) {
  const CommunicationGroup group = communication_group(job, ranks);
  return {group.shape.nodes, group.shape.ranks_per_node, group.crosses_leaves, group.shape.domains > 1};
}

RankFactors factors_of(const Job& job, int stage, int replica) {
  return job.cluster.perturbations().of(job.rank_of(stage, replica, 0));
}

// Numbers equal signatures of stages alike.
class Signatures {
 public:
  // `placed`: false for uniform() jobs, whose placement does not distinguish replicas.
  Signatures(const Job& job, bool perturbed, bool placed) : job_(job), perturbed_(perturbed), placed_(placed) {}

  Signature of(int replica) {
    Signature out{microbatches(job_.strategy, job_.training, replica), stagger_group(job_, replica), {}};
    for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
      const StageSignature own = of_stage(stage, replica);
      const auto found = std::find(known_.begin(), known_.end(), own);
      out.stages.push_back(static_cast<int>(found - known_.begin()));
      if (found == known_.end()) known_.push_back(own);
    }
    return out;
  }

 private:
  using Groups = std::array<GroupShape, 3>;  // tensor, context, expert
  // Position where the contiguous ranks of a replica's groups begin: in a node and its domain, and below a leaf.
  using Position = std::tuple<std::size_t, int, int, int>;

  StageSignature of_stage(int stage, int replica) {
    const int stages = job_.strategy.pipeline;
    StageSignature out;
    if (perturbed_) out.factors = factors_of(job_, stage, replica);
    if (!placed_) return out;
    job_.hardware_of(stage, replica);  // refuses a team on several types of nodes
    const int first = job_.rank_of(stage, replica, 0);
    out.hardware = first_alike(job_.cluster, first);
    const Groups groups = groups_of(stage, replica);
    out.places.assign(groups.begin(), groups.end());
    for (const int other : {(stage + 1) % stages, (stage + stages - 1) % stages}) {
      if (other != stage) out.places.push_back(place_of_pair(first, job_.rank_of(other, replica, 0)));
    }
    return out;
  }

  // Placement of a group of two ranks, without making the group.
  GroupShape place_of_pair(int one, int other) const {
    const DevicePlace a = network_place(job_, one);
    const DevicePlace b = network_place(job_, other);
    const bool one_node = a.node == b.node;
    const bool crosses = leaf_of(job_, one) != leaf_of(job_, other);
    return {one_node ? 1 : 2, one_node ? 2 : 1, crosses, a.domain != b.domain};
  }

  // Groups that begin at the same position, in consecutive nodes of one entry of the cluster, have the same placement.
  Groups groups_of(int stage, int replica) {
    const int first = job_.rank_of(stage, replica, 0);
    const int last = first + job_.strategy.expert_span().data * job_.strategy.team() - 1;
    const Cluster& cluster = job_.cluster;
    const DevicePlace begin = cluster.place_of(first);
    if (job_.part || cluster.place_of(last).group != begin.group) return make_groups(stage, replica);
    const NodeGroup& nodes = cluster.group_of(first);
    const int within = first - nodes.first_device;
    const Position position(static_cast<std::size_t>(begin.group), begin.node % nodes_per_leaf(cluster, first),
                            begin.local, within % nodes.hardware.spec.scale_up_domain);
    const auto known = groups_.find(position);
    return known != groups_.end() ? known->second
                                  : groups_.emplace(position, make_groups(stage, replica)).first->second;
  }

  Groups make_groups(int stage, int replica) const {
    return {place_of(job_, job_.tensor_group(stage, replica)),
            place_of(job_, job_.group_over(stage, context_axes(job_.strategy), replica)),
            place_of(job_, job_.group_over(stage, expert_axes(job_.strategy), replica))};
  }

  const Job& job_;
  bool perturbed_;
  bool placed_;
  std::vector<StageSignature> known_;
  std::map<Position, Groups> groups_;
};

// Limits the number of classes: every class has a plan for each stage.
void check_count(const Job& job, std::size_t classes) {
  constexpr std::size_t max_plans = 4096;
  if (classes * static_cast<std::size_t>(job.strategy.pipeline) <= max_plans) return;
  fail_infeasible({},
                  fmt::format("the {} data-parallel replicas are of more than {} kinds, each with {} pipeline stages",
                              job.strategy.data, classes - 1, job.strategy.pipeline),
                  "give more replicas the same type of node, placement, strategy.replica_microbatches and factors of "
                  "cluster.perturbations");
}

// Returns the class of each replica. Replicas that divide experts among them take the placement of their first.
std::vector<int> number_classes(const Job& job, bool perturbed, bool placed) {
  const int together = job.strategy.expert_span().data;
  Signatures signatures(job, perturbed, placed);
  std::vector<Signature> known;
  std::vector<int> numbers;
  for (int replica = 0; replica < job.strategy.data; ++replica) {
    const int block = replica - replica % together;
    if (block != replica) {
      numbers.push_back(numbers[static_cast<std::size_t>(block)]);
      continue;
    }
    Signature own = signatures.of(replica);
    const auto found = std::find(known.begin(), known.end(), own);
    numbers.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(std::move(own));
    check_count(job, known.size());
  }
  return numbers;
}

void check_experts(const Job& job) {
  const int together = job.strategy.expert_span().data;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    for (int replica = 0; replica < job.strategy.data; ++replica) {
      const NodeGroup& first = job.hardware_of(stage, replica - replica % together);
      const NodeGroup& own = job.hardware_of(stage, replica);
      if (same_hardware(first, own)) continue;
      fail_infeasible(
          {},
          fmt::format("the expert-parallel group of replicas {} to {} of pipeline stage {} lies on {} and {}",
                      replica - replica % together, replica - replica % together + together - 1, stage,
                      first.hardware.name(), own.hardware.name()),
          "choose node counts or strategy.expert so that each expert-parallel group has one type of node and GPU");
    }
  }
}

// Members of a sharding group are counted over context ranks as well, as Job::data_group lists them.
void check_groups(const Job& job, const std::vector<int>& class_of) {
  const Strategy& s = job.strategy;
  for (const int size : job.groups_apart()) {
    for (int member = 0; member < s.replicas(); ++member) {
      const int first = (member - member % size) / s.context;
      const int own = member / s.context;
      if (class_of[static_cast<std::size_t>(first)] == class_of[static_cast<std::size_t>(own)]) continue;
      fail_infeasible(
          {},
          fmt::format("replicas {} and {} share a sharded copy of the state, or gather or exchange without "
                      "the others (groups of {}), but differ in type of node, placement or microbatches",
                      first, own, size),
          "leave strategy.zero_group, zero_second_group, quantized_reductions and weight_shards out, or order "
          "cluster.nodes so that each group has equal replicas");
    }
  }
}

// Gradients are exchanged in 4 bits among as many ranks in each node, which the first node has.
void check_nodes(const Job& job) {
  if (!job.strategy.quantized_reductions) return;
  const int places = job.places_in_node();
  const std::vector<int> ranks = job.data_group(0);
  const auto node_of = [&](std::size_t place) { return job.cluster.place_of(ranks[place]).node; };
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    const bool begins = place % static_cast<std::size_t>(places) == 0;
    const bool is_new = place == 0 || node_of(place) != node_of(place - 1);
    if (begins == is_new && ranks.size() % static_cast<std::size_t>(places) == 0) continue;
    fail_infeasible({},
                    fmt::format("strategy.quantized_reductions: the first node holds {} data-parallel ranks of a "
                                "stage, and others do not: rank {}",
                                places, ranks[place]),
                    "use nodes with equally many GPUs, or leave quantized_reductions out");
  }
}

std::vector<int> all_replicas(int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

bool folds(const Job& job) {
  const Fabric& fabric = job.cluster.fabric();
  if (fabric.routing == Routing::hashed && may_be_short(fabric)) return false;
  if (job.cluster.perturbations().empty()) return true;
  const Strategy& s = job.strategy;
  // Only groups of all ranks say which groups leave a node.
  if (!s.stages.empty() || !job.cluster.perturbations().ports.empty()) return false;
  const int in_step = s.expert_span().data * s.context;  // consecutive ones among a tensor rank's replicas() at a stage
  std::vector<int> sizes = job.groups_apart();
  sizes.push_back(in_step);
  for (int rank = 0; rank < static_cast<int>(s.ranks()); ++rank) {
    for (const int alike : sizes) {
      const int first = job.first_neighbour(rank, alike);
      if (job.cluster.perturbations().of(rank) != job.cluster.perturbations().of(first)) return false;
    }
  }
  return true;
}

int placed_as(const Job& job, const ReplicaClass& own) {
  const bool unlike = !job.cluster.perturbations().empty() || job.cluster.facility().staggered_replicas;
  const bool divided = unlike && job.strategy.stages.empty() && uniform(job);
  return divided ? 0 : own.first();
}

std::vector<ReplicaClass> replica_classes(const Job& job) {
  if (!job.strategy.stages.empty()) {
    check_shaped_stages(job);
    return {{all_replicas(job.strategy.data), microbatches(job.strategy, job.training)}};
  }
  const bool placed = !uniform(job);
  const bool perturbed = !job.cluster.perturbations().empty() && folds(job);
  const bool staggered = job.cluster.facility().staggered_replicas.has_value();
  if (!placed && !perturbed && !staggered) {
    return {{all_replicas(job.strategy.data), microbatches(job.strategy, job.training)}};
  }
  if (placed) check_experts(job);
  const std::vector<int> class_of = number_classes(job, perturbed, placed);
  check_groups(job, class_of);
  check_nodes(job);
  std::vector<ReplicaClass> out;
  for (int replica = 0; replica < job.strategy.data; ++replica) {
    const auto number = static_cast<std::size_t>(class_of[static_cast<std::size_t>(replica)]);
    if (number == out.size()) out.push_back({{}, microbatches(job.strategy, job.training, replica)});
    out[number].replicas.push_back(replica);
  }
  return out;
}

std::vector<ReplicaClass> replica_classes(const Job& job, int stage) {
  std::vector<ReplicaClass> out = replica_classes(job);
  if (!job.strategy.stages.empty()) out.front().replicas = all_replicas(job.strategy.shape_of(stage).data);
  return out;
}

}  // namespace mirfak
