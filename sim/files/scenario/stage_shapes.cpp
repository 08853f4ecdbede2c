#include "scenario/stage_shapes.hpp"

#include "strategy/stage_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Reads stages in their order; each stage begins at the first GPU that the stages before leave free.
class StageReader {
 public:
  StageReader(const StagesFor& reading, const Strategy& strategy) : reading_(reading), strategy_(strategy) {}

  void read(const Node& node) {
    Mapping stage(node);
    const auto layers = stage.find("layers");
    const auto tower = stage.find("tower");
    if (tower && tower->as_bool()) {
      read_tower(*tower, layers);
    } else if (layers) {
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
    } else if (reading_.data) {
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
  // Layers of the stages that state them, or of all stages if only the tower's are stated.
  std::vector<int> layers(const Node& node) const {
    if (!has_tower_ || layers_.size() > 1) return layers_;
    const auto others = static_cast<std::int64_t>(shapes_.size()) - 1;
    const std::int64_t decoder = reading_.model->layers - reading_.model->tower_layers - 1;
    if (others == 0) node.fail_infeasible("the tower has a stage of its own, and the decoder none", "add stages");
    if (decoder % others != 0) {
      node.fail_infeasible(fmt::format("{} layers of the decoder cannot be divided into {} stages", decoder, others),
                           fmt::format("give layers in all stages but the tower's, {} in all: the layer that puts "
                                       "images among words counts as one",
                                       decoder + 1));
    }
    std::vector<int> out = layers_;
    for (std::int64_t i = 0; i < others; ++i) out.push_back(static_cast<int>(decoder / others + (i == 0 ? 1 : 0)));
    return out;
  }

 private:
  static int read_size(const Node& node) { return static_cast<int>(node.as_integer(1, strategy_limits::kRanks)); }

  static int size_of(Mapping& stage, std::string_view key, int otherwise) {
    const auto found = stage.find(key);
    return found ? read_size(*found) : otherwise;
  }

  void read_tower(const Node& tower, const std::optional<Node>& layers) {
    if (layers) layers->fail("a stage that is the tower has the tower's layers", "leave layers out, or tower");
    if (!shapes_.empty()) tower.fail("the tower stands at the beginning of the model", "make it the first stage");
    if (reading_.model == nullptr || reading_.model->tower_layers == 0) {
      tower.fail_infeasible("the model has no tower for images", "state layers, or choose a model with a tower");
    }
    layers_.push_back(static_cast<int>(reading_.model->tower_layers));
    has_tower_ = true;
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
    if (reading_.cluster == nullptr) nodes.fail("the nodes of the cluster are not known here", "give gpus");
    const auto left = reading_.cluster->gpus() - next_;
    if (left <= 0) {
      nodes.fail_infeasible(fmt::format("no GPUs are left: the stages before take all {}", reading_.cluster->gpus()),
                            "make the stages smaller, or the cluster larger");
    }
    const auto first = static_cast<int>(next_);
    if (reading_.cluster->place_of(first).local != 0) {
      nodes.fail_infeasible(fmt::format("the stage begins at GPU {}, in the middle of a node", first),
                            "give gpus instead, or stages of whole nodes before it");
    }
    const int last = reading_.cluster->place_of(first).node + count;
    if (last > reading_.cluster->nodes()) {
      nodes.fail_infeasible(fmt::format("{} nodes from node {} on, but the cluster has {}", count, last - count,
                                        reading_.cluster->nodes()),
                            "make the stages smaller, or the cluster larger");
    }
    int gpu = first;
    while (gpu < reading_.cluster->gpus() && reading_.cluster->place_of(gpu).node < last)
      gpu += reading_.cluster->group_of(gpu).hardware.spec.gpus;
    return gpu - first;
  }

  const StagesFor& reading_;
  const Strategy& strategy_;
  std::int64_t next_ = 0;
  std::vector<StageShape> shapes_;
  std::vector<int> layers_;
  bool has_tower_ = false;
};

void check_layers(const Node& node, std::size_t layers, std::size_t stages, const Strategy& strategy) {
  if (layers == 0) return;
  if (layers != stages) {
    node.fail(fmt::format("{} of {} stages say how many layers they have", layers, stages),
              "give layers in all of them, or in none");
  }
  if (strategy.layer_split.empty()) return;
  node.fail_infeasible("strategy.layer_split and the layers of stages say the same", "leave one of them out");
}

}  // namespace

void read_stages(const Node& node, const StagesFor& reading, Strategy& strategy) {
  StageReader stages(reading, strategy);
  for (const Node& item : node.as_items()) stages.read(item);
  if (stages.shapes().empty()) node.fail("expected at least one stage, found an empty list", "leave it out");
  std::vector<int> layers = stages.layers(node);
  check_layers(node, layers.size(), stages.shapes().size(), strategy);
  if (!layers.empty()) strategy.layer_split = std::move(layers);
  const auto count = static_cast<int>(stages.shapes().size());
  if (strategy.pipeline != 1 && strategy.pipeline != count) {
    node.fail_infeasible(fmt::format("{} stages, but strategy.pipeline is {}", count, strategy.pipeline),
                         "leave strategy.pipeline out");
  }
  set_stages(strategy, stages.shapes());
  if (!reading.expert_tensor) strategy.expert_tensor = 0;  // each stage's own tensor size
}

}  // namespace mirfak
