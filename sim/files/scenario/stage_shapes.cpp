#include "scenario/stage_shapes.hpp"

#include "strategy/stage_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace mirfak {

namespace {

// Reads stages in their order; each stage begins at the first GPU that the stages before leave free.
class StageReader {
 public:
  StageReader(const StatedBeside& beside, const Cluster* cluster, const Strategy& strategy)
      : beside_(beside), cluster_(cluster), strategy_(strategy) {}

  void read(const Node& node) {
    Mapping stage(node);
    if (const auto layers = stage.find("layers")) {
      layers_.push_back(static_cast<int>(layers->as_integer(0, strategy_limits::kLayers)));
    }
    StageShape shape;
    shape.tensor = size_of(stage, "tensor", strategy_.tensor);
    shape.expert = size_of(stage, "expert", strategy_.expert);
    const std::optional<int> gpus = gpus_of(stage, node);
    const auto data = stage.find("data");
    if (data) {
      shape.data = read_size(*data);
    } else if (gpus) {
      shape.data = std::max(1, *gpus / shape.tensor);
    } else if (beside_.data) {
      shape.data = strategy_.data;
    } else {
      node.fail("expected nodes, gpus or data: how many GPUs the stage takes", "such as {nodes: 1, tensor: 4}");
    }
    if (gpus && std::int64_t{shape.tensor} * shape.data != *gpus) {
      node.fail_infeasible(
          fmt::format("tensor {} x data {} are not the {} GPUs of the stage", shape.tensor, shape.data, *gpus),
          data ? "leave data out to use all of them" : "choose a tensor size that divides the GPUs");
    }
    stage.finish();
    next_ += std::int64_t{shape.tensor} * shape.data;
    shapes_.push_back(shape);
  }

  const std::vector<StageShape>& shapes() const { return shapes_; }
  const std::vector<int>& layers() const { return layers_; }

 private:
  static int read_size(const Node& node) { return static_cast<int>(node.as_integer(1, strategy_limits::kRanks)); }

  static int size_of(Mapping& stage, std::string_view key, int otherwise) {
    const auto found = stage.find(key);
    return found ? read_size(*found) : otherwise;
  }

  std::optional<int> gpus_of(Mapping& stage, const Node& node) const {
    const auto nodes = stage.find("nodes");
    const auto gpus = stage.find("gpus");
    if (nodes && gpus) node.fail("nodes and gpus both say how many GPUs the stage takes", "leave one of them out");
    if (gpus) return read_size(*gpus);
    return nodes ? std::optional(gpus_on(*nodes)) : std::nullopt;
  }

  // Returns the number of GPUs of the next nodes.
  int gpus_on(const Node& nodes) const {
    const auto count = static_cast<int>(nodes.as_integer(1, strategy_limits::kRanks));
    if (cluster_ == nullptr) nodes.fail("the nodes of the cluster are not known here", "give gpus");
    const auto left = cluster_->gpus() - next_;
    if (left <= 0) {
      nodes.fail_infeasible(fmt::format("no GPUs are left: the stages before take all {}", cluster_->gpus()),
                            "make the stages smaller, or the cluster larger");
    }
    const auto first = static_cast<int>(next_);
    if (cluster_->place_of(first).local != 0) {
      nodes.fail_infeasible(fmt::format("the stage begins at GPU {}, in the middle of a node", first),
                            "give gpus instead, or stages of whole nodes before it");
    }
    const int last = cluster_->place_of(first).node + count;
    if (last > cluster_->nodes()) {
      nodes.fail_infeasible(
          fmt::format("{} nodes from node {} on, but the cluster has {}", count, last - count, cluster_->nodes()),
          "make the stages smaller, or the cluster larger");
    }
    int gpu = first;
    while (gpu < cluster_->gpus() && cluster_->place_of(gpu).node < last)
      gpu += cluster_->group_of(gpu).hardware.spec.gpus;
    return gpu - first;
  }

  const StatedBeside& beside_;
  const Cluster* cluster_;
  const Strategy& strategy_;
  std::int64_t next_ = 0;
  std::vector<StageShape> shapes_;
  std::vector<int> layers_;
};

void check_layers(const Node& node, const StageReader& stages, const Strategy& strategy) {
  if (stages.layers().empty()) return;
  if (stages.layers().size() != stages.shapes().size()) {
    node.fail(
        fmt::format("{} of {} stages say how many layers they have", stages.layers().size(), stages.shapes().size()),
        "give layers in all of them, or in none");
  }
  if (strategy.layer_split.empty()) return;
  node.fail_infeasible("strategy.layer_split and the layers of stages say the same", "leave one of them out");
}

}  // namespace

void read_stages(const Node& node, const StatedBeside& beside, const Cluster* cluster, Strategy& strategy) {
  StageReader stages(beside, cluster, strategy);
  for (const Node& item : node.as_items()) stages.read(item);
  if (stages.shapes().empty()) node.fail("expected at least one stage, found an empty list", "leave it out");
  check_layers(node, stages, strategy);
  if (!stages.layers().empty()) strategy.layer_split = stages.layers();
  const auto count = static_cast<int>(stages.shapes().size());
  if (strategy.pipeline != 1 && strategy.pipeline != count) {
    node.fail_infeasible(fmt::format("{} stages, but strategy.pipeline is {}", count, strategy.pipeline),
                         "leave strategy.pipeline out");
  }
  set_stages(strategy, stages.shapes());
  if (!beside.expert_tensor) strategy.expert_tensor = 0;  // each stage's own tensor size
}

}  // namespace mirfak
