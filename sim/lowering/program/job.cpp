#include "program/job.hpp"

#include "model/attention_kernels.hpp"
#include "schedule/schedule.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <tuple>

namespace mirfak {

const PrecisionRecipe& Job::recipe() const {
  const PrecisionRecipe* found = find_precision_recipe(training.precision);
  if (found == nullptr) {
    fail_input({}, fmt::format("training.precision: unknown precision '{}'", training.precision));
  }
  return *found;
}

Precision Job::precision() const { return precision_named(recipe().activations); }
Precision Job::product_precision() const { return precision_named(recipe().products); }

std::vector<std::string> Job::attention_kernels() const {
  if (!training.fp8_attention) return framework.fusion.attention;
  return attention_in_8_bits_of(framework.fusion.attention, recipe().scaling == Scaling::micro);
}

Job Job::at(int stage) const {
  Job out = *this;
  out.strategy = strategy.at(stage);
  return out;
}

int Job::last_rank(int stage) const {
  const StageShape shape = strategy.shape_of(stage);
  return rank_of(stage, shape.data - 1, shape.tensor * strategy.context - 1);
}

int Job::first_neighbour(int rank, int neighbours) const {
  const int team = strategy.team();
  const int before = rank / team;  // teams with lower numbers
  const bool data_last = strategy.rank_order == RankOrder::data_last;
  const int stage = data_last ? before % strategy.pipeline : before / strategy.data;
  const int data = data_last ? before / strategy.pipeline : before % strategy.data;
  const int place = data * strategy.context + rank % team / strategy.tensor;
  const int first = place - place % neighbours;
  return rank_of(stage, first / strategy.context, first % strategy.context * strategy.tensor);
}

std::vector<int> Job::group_over(int stage, MeshAxisSet axes, int data) const {
  const DeviceMesh mesh = mesh_of(strategy);
  const auto places = [&](MeshAxis axis) { return axes.contains(axis) ? mesh.size(axis) : 1; };
  const int sharing = mesh.size(MeshAxis::expert);
  const int heads = axes.contains(MeshAxis::heads) ? strategy.context_heads : 1;
  // The replica's own place on the axes of replicas that the group does not go over.
  int own = data;
  if (axes.contains(MeshAxis::expert)) own -= data % sharing;
  if (axes.contains(MeshAxis::data)) own = axes.contains(MeshAxis::expert) ? 0 : data % sharing;
  std::vector<int> ranks;
  for (int replica = 0; replica < places(MeshAxis::data); ++replica) {
    for (int expert = 0; expert < places(MeshAxis::expert); ++expert) {
      for (int context = 0; context < places(MeshAxis::context); ++context) {
        for (int head = 0; head < heads; ++head) {
          for (int tensor = 0; tensor < places(MeshAxis::tensor); ++tensor) {
            const int within = (context * strategy.context_heads + head) * strategy.tensor + tensor;
            ranks.push_back(rank_of(stage, own + replica * sharing + expert, within));
          }
        }
      }
    }
  }
  return ranks;
}

std::vector<int> Job::tensor_group(int stage, int data) const { return group_over(stage, {MeshAxis::tensor}, data); }

std::vector<int> Job::context_group(int stage, int data) const { return group_over(stage, {MeshAxis::context}, data); }

std::vector<int> Job::heads_group(int stage, int data) const {
  return strategy.context_heads > 1 ? group_over(stage, {MeshAxis::heads}, data) : std::vector{rank_of(stage, data, 0)};
}

std::vector<int> Job::data_group(int stage) const {
  MeshAxisSet axes{MeshAxis::data, MeshAxis::expert};
  axes.insert(context_axes(strategy));
  return group_over(stage, axes);
}

std::vector<int> Job::expert_data_group(int stage) const {
  const MeshAxisSet experts = expert_axes(strategy);
  MeshAxisSet axes(MeshAxis::data);
  if (!experts.contains(MeshAxis::context)) axes.insert(context_axes(strategy));
  return group_over(stage, axes);
}

std::vector<int> Job::neighbours(int stage, int data, int size) const {
  const std::vector<int> all = data_group(stage);
  const auto first = all.begin() + data * strategy.context / size * size;
  return {first, first + size};
}

std::vector<int> Job::spread(int stage, int apart) const {
  const std::vector<int> all = data_group(stage);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(apart)) ranks.push_back(all[i]);
  return ranks;
}

std::vector<int> Job::shard_group(int stage, int data) const { return neighbours(stage, data, strategy.shards()); }

std::vector<int> Job::across_group(int stage) const { return spread(stage, strategy.shards()); }

std::vector<int> Job::expert_neighbours(int stage, int data, int size) const {
  const int sharing = strategy.expert_span().data;
  const int first = data / sharing / size * size;
  std::vector<int> ranks;
  for (int i = first; i < first + size; ++i) ranks.push_back(rank_of(stage, i * sharing + data % sharing, 0));
  return ranks;
}

std::vector<int> Job::expert_spread(int stage, int apart) const {
  const int sharing = strategy.expert_span().data;
  std::vector<int> ranks;
  for (int i = 0; i < strategy.expert_replicas(); i += apart) ranks.push_back(rank_of(stage, i * sharing, 0));
  return ranks;
}

int Job::places_in_node() const {
  const auto node_of = [&](int place) {
    const DevicePlace at =
        cluster.place_of(rank_of(0, place / strategy.context, place % strategy.context * strategy.tensor));
    return at.node;
  };
  int places = 1;
  while (places < strategy.replicas() && node_of(places) == node_of(0)) ++places;
  return places;
}

std::vector<int> Job::groups_apart() const {
  std::vector<int> sizes;
  if (strategy.shards() > 1) sizes.push_back(strategy.shards());
  if (strategy.zero_second_group > 1) sizes.push_back(strategy.zero_second_group);
  if (strategy.quantized_reductions) sizes.push_back(places_in_node());
  if (strategy.weight_group() > 1) sizes.push_back(strategy.weight_group());
  if (strategy.expert_weight_group() > 1) {
    sizes.push_back(strategy.expert_weight_group() * strategy.expert_span().data);
  }
  std::erase(sizes, strategy.replicas());
  return sizes;
}

const NodeGroup& Job::hardware_of(int stage, int data) const {
  const int first = rank_of(stage, data, 0);
  const int last = rank_of(stage, data, strategy.shape_of(stage).tensor * strategy.context - 1);
  const NodeGroup& nodes = cluster.group_of(first);
  for (int group = cluster.place_of(first).group; group < cluster.place_of(last).group; ++group) {
    const NodeGroup& next = cluster.groups()[static_cast<std::size_t>(group) + 1];
    if (same_hardware(nodes, next)) continue;
    fail_infeasible(
        {},
        fmt::format("cluster.nodes: the {} ranks of replica {} of pipeline stage {}, which run every pass "
                    "together, lie on {} and {}",
                    last - first + 1, data, stage, nodes.hardware.name(), next.hardware.name()),
        "choose node counts and sizes so that each tensor- and context-parallel team has one type of node and GPU");
  }
  return nodes;
}

bool overlaps_transfers(const Framework& framework, ScheduleId schedule) {
  const Schedule& order = schedule_of(schedule);
  return order.sends_beside_passes || (order.in_groups && framework.communication.overlap_pipeline);
}

bool same_hardware(const NodeGroup& a, const NodeGroup& b) {
  const auto named = [](const NodeGroup& group) {
    const NodeSpec& spec = group.hardware.spec;
    return std::tie(spec.name, group.hardware.gpu.name, group.hardware.scale_up.name, spec.host_link, spec.network,
                    spec.topology.file);
  };
  const auto counted = [](const NodeGroup& group) {
    const NodeSpec& spec = group.hardware.spec;
    return std::tuple(spec.entry, spec.gpus, spec.ranks_per_gpu, spec.ports, group.hardware.gpu.power_limit_w);
  };
  return named(a) == named(b) && counted(a) == counted(b);
}

double gradient_bytes(const Job& job) {
  if (!job.training.gradient_precision.empty()) return job.training.gradient_precision == "fp32" ? 4 : 2;
  switch (job.precision()) {
    case Precision::fp16:
      return job.framework.memory.gradient_bytes_fp16;
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    default:
      return job.framework.memory.gradient_bytes;
  }
}

double reduced_gradient_bytes(const Job& job) {
  return job.framework.sharding.reduces_fp32 ? bytes_per_element(Precision::fp32) : gradient_bytes(job);
}

}  // namespace mirfak
