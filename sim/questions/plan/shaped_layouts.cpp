#include "plan/shaped_layouts.hpp"

#include "schedule/schedule.hpp"
#include "strategy/stage_rules.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

bool has(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

class ShapeLister {
 public:
  ShapeLister(const StrategySpace& space, const Cluster& cluster) : space_(space), cluster_(cluster) {
    const auto most = std::max_element(space.pipeline.begin(), space.pipeline.end());
    most_stages_ = most == space.pipeline.end() ? 0 : *most;
  }

  std::vector<Strategy> all() {
    const bool several = cluster_.groups().size() > 1;
    if (several && has(space_.context, 1)) choose(0, 0);
    return std::move(out_);
  }

 private:
  // Chooses shapes of the types from `type` on; the types before it have `before` stages.
  void choose(std::size_t type, int before) {
    const auto groups = cluster_.groups();
    if (type == groups.size()) return add(before);
    const NodeGroup& group = groups[type];
    const int gpus = group.gpus();
    const int left = static_cast<int>(groups.size() - type) - 1;  // types after it, with at least one stage each
    for (const int tensor : space_.tensor) {
      if (tensor > group.hardware.spec.scale_up_domain && !space_.tensor_across_domains) continue;
      for (int stages = 1; before + stages + left <= most_stages_ && stages * tensor <= gpus; ++stages) {
        if (gpus % (stages * tensor) != 0) continue;
        for (const int expert : space_.expert) {
          chosen_.push_back({type, {tensor, gpus / (stages * tensor), expert}, stages});
          choose(type + 1, before + stages);
          chosen_.pop_back();
        }
      }
    }
  }

  void add(int stages) {
    const auto differ = [](const StagesOfType& a, const StagesOfType& b) { return !(a.shape == b.shape); };
    const bool alike = std::adjacent_find(chosen_.begin(), chosen_.end(), differ) == chosen_.end();
    if (alike || !has(space_.pipeline, stages) || !divide_in_some_order()) return;
    Strategy layout = space_.others;
    layout.context = 1;
    const bool whole = std::all_of(chosen_.begin(), chosen_.end(), [](auto& of) { return of.shape.tensor == 1; });
    for (const int expert_tensor : space_.expert_tensor) {
      if (expert_tensor == 1 && whole && space_.expert_tensor.size() > 1) continue;  // same as `tensor`
      layout.expert_tensor = expert_tensor;
      std::vector<std::size_t> order(chosen_.size());
      std::iota(order.begin(), order.end(), 0);
      out_.push_back(with_stages(layout, chosen_, order));
    }
  }

  bool divide_in_some_order() const {
    std::vector<std::size_t> order(chosen_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto part = [&](std::size_t a, std::size_t b) { return !divide(chosen_[a].shape, chosen_[b].shape); };
    do {
      if (std::adjacent_find(order.begin(), order.end(), part) == order.end()) return true;
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  const StrategySpace& space_;
  const Cluster& cluster_;
  int most_stages_ = 0;
  std::vector<StagesOfType> chosen_;
  std::vector<Strategy> out_;
};

}  // namespace

std::vector<Strategy> shaped_layouts(const StrategySpace& space, const Cluster& cluster) {
  return ShapeLister(space, cluster).all();
}

std::vector<StagesOfType> stages_by_type(const Strategy& layout, std::span<const std::int64_t> gpus_of_types) {
  std::vector<StagesOfType> out;
  std::size_t type = 0;
  std::int64_t end = gpus_of_types.front();  // end of the type's GPUs
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    while (layout.first_rank(stage) >= end && type + 1 < gpus_of_types.size()) end += gpus_of_types[++type];
    const StageShape& shape = layout.stages[static_cast<std::size_t>(stage)];
    const bool goes_on = !out.empty() && out.back().type == type && out.back().shape == shape;
    if (goes_on) {
      ++out.back().stages;
    } else {
      out.push_back({type, shape, 1});
    }
  }
  return out;
}

Strategy with_stages(Strategy layout, std::span<const StagesOfType> stages, std::span<const std::size_t> order) {
  std::vector<StageShape> shapes;
  for (const std::size_t type : order) {
    for (const StagesOfType& of : stages) {
      if (of.type == type) shapes.insert(shapes.end(), static_cast<std::size_t>(of.stages), of.shape);
    }
  }
  set_stages(layout, std::move(shapes));
  return layout;
}

StrategySpace space_of_shaped(StrategySpace space) {
  std::erase_if(space.schedule, [](ScheduleId id) {
    const Schedule& order = schedule_of(id);
    return order.in_groups || order.chunks > 1 || !order.looped;
  });
  std::erase_if(space.virtual_pipeline, [](int chunks) { return chunks > 1; });
  return space;
}

}  // namespace mirfak
