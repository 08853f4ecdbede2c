#include "interpreter/layout.hpp"

#include <numeric>

namespace mirfak::interpreter {

Layout::Layout(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan)
    : graph_(graph), mesh_(mesh), same_(graph.axes.size()), divided_by_(graph.axes.size()) {
  std::iota(same_.begin(), same_.end(), std::size_t{0});
  for (const Operator& op : graph.operators) {
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *operands) {
        const AxisLabels& axes = graph.tensor(operand.tensor).axes;
        for (std::size_t i = 0; i < axes.size(); ++i) join(axes[i], operand.labels[i]);
      }
    }
  }
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const AxisLabels& axes = graph.tensors[id].axes;
    for (std::size_t i = 0; i < axes.size(); ++i) divide(axes[i], plan.tensors[id].axes[i]);
  }
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    for (std::size_t axis = 0; axis < graph.axes.size(); ++axis) {
      divide(static_cast<Axis>(axis), plan.operators[id][axis]);
    }
  }
}

std::size_t Layout::root(std::size_t axis) const {
  while (same_[axis] != axis) axis = same_[axis];
  return axis;
}

void Layout::join(Axis a, Axis b) { same_[root(index_of(a))] = root(index_of(b)); }

void Layout::divide(Axis axis, MeshAxisSet by) {
  for (const MeshAxis mesh_axis : by) {
    if (mesh_.size(mesh_axis) > 1) divided_by_[root(index_of(axis))].insert(mesh_axis);
  }
}

int Layout::coordinate(std::int64_t device, MeshAxis axis) const {
  for (std::size_t i = mesh_.rank(); i-- > static_cast<std::size_t>(axis) + 1;) {
    device /= mesh_.size(static_cast<MeshAxis>(i));
  }
  return static_cast<int>(device % mesh_.size(axis));
}

std::int64_t Layout::moved(std::int64_t device, MeshAxis axis, int coordinate) const {
  std::int64_t stride = 1;
  for (std::size_t i = mesh_.rank(); i-- > static_cast<std::size_t>(axis) + 1;) {
    stride *= mesh_.size(static_cast<MeshAxis>(i));
  }
  return device + stride * (coordinate - this->coordinate(device, axis));
}

std::vector<std::int64_t> Layout::group(std::int64_t device, MeshAxisSet over) const {
  std::vector<std::int64_t> out = {device};
  for (const MeshAxis axis : over) {
    std::vector<std::int64_t> more;
    for (const std::int64_t member : out) {
      for (int at = 0; at < mesh_.size(axis); ++at) more.push_back(moved(member, axis, at));
    }
    out = std::move(more);
  }
  return out;
}

Places Layout::places(Axis axis, MeshAxisSet dividing, std::int64_t device) const {
  std::vector<std::int64_t> out;
  for (std::int64_t place = 0; place < graph_.extent(axis); ++place) {
    std::int64_t rest = place;
    std::int64_t size = graph_.extent(axis);
    bool mine = true;
    for (const MeshAxis by : divided_by_[root(index_of(axis))]) {
      const std::int64_t part = (size + mesh_.size(by) - 1) / mesh_.size(by);
      if (dividing.contains(by)) mine = mine && rest / part == coordinate(device, by);
      rest %= part;
      size = part;
    }
    if (mine) out.push_back(place);
  }
  return Places(std::move(out));
}

Box Layout::box(TensorId tensor, const Sharding& sharding, std::int64_t device) const {
  Box out;
  const AxisLabels& axes = graph_.tensor(tensor).axes;
  for (std::size_t i = 0; i < axes.size(); ++i) out.push_back(places(axes[i], sharding.axes[i], device));
  return out;
}

Ranges Layout::ranges(const LabelSharding& labels, std::int64_t device) const {
  Ranges out;
  for (std::size_t axis = 0; axis < graph_.axes.size(); ++axis) {
    out.push_back(places(static_cast<Axis>(axis), labels[axis], device));
  }
  return out;
}

bool Layout::is_even() const {
  for (std::size_t axis = 0; axis < graph_.axes.size(); ++axis) {
    if (graph_.axes[axis].extent % mesh_.size(divided_by_[root(axis)]) != 0) return false;
  }
  return true;
}

}  // namespace mirfak::interpreter
