#include "interpreter/layout.hpp"

#include "sharding/halo.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace mirfak::interpreter {

Layout::Layout(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan)
    : graph_(graph),
      mesh_(mesh),
      same_(graph.axes.size()),
      same_order_(graph.axes.size()),
      divided_by_(graph.axes.size()) {
  join_axes(plan.by_compiler);
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const AxisLabels& axes = graph.tensors[id].axes;
    for (std::size_t i = 0; i < axes.size(); ++i) divide(axes[i], plan.tensors[id].axes[i]);
  }
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    for (std::size_t axis = 0; axis < graph.axes.size(); ++axis) {
      divide(static_cast<Axis>(axis), plan.operators[id][axis]);
    }
  }
  if (plan.by_compiler) note_transitions(plan);
  choose_orders(plan.by_compiler);
}

void Layout::join_axes(bool by_compiler) {
  std::iota(same_.begin(), same_.end(), std::size_t{0});
  for (const Operator& op : graph_.operators) {
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *operands) {
        const AxisLabels& axes = graph_.tensor(operand.tensor).axes;
        for (std::size_t i = 0; i < axes.size(); ++i) join(axes[i], operand.labels[i]);
      }
    }
  }
  for (std::size_t axis = 0; axis < same_order_.size(); ++axis) same_order_[axis] = root(axis);
  if (!by_compiler) return;
  for (const Operator& op : graph_.operators) {
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *operands) {
        for (const Window& window : operand.windows) {
          const std::size_t axis = family(index_of(operand.labels[window.position]));
          same_order_[axis] = family(index_of(window.step));
        }
      }
    }
  }
}

std::size_t Layout::root(std::size_t axis) const {
  while (same_[axis] != axis) axis = same_[axis];
  return axis;
}

std::size_t Layout::family(std::size_t axis) const {
  while (same_order_[axis] != axis) axis = same_order_[axis];
  return axis;
}

void Layout::join(Axis a, Axis b) { same_[root(index_of(a))] = root(index_of(b)); }

MeshAxisSet Layout::used(MeshAxisSet axes) const {
  MeshAxisSet out;
  for (const MeshAxis axis : axes) {
    if (mesh_.size(axis) > 1) out.insert(axis);
  }
  return out;
}

void Layout::divide(Axis axis, MeshAxisSet by) {
  const MeshAxisSet dividing = used(by);
  if (dividing.empty()) return;
  divided_by_[root(index_of(axis))].insert(dividing);
  divisions_.emplace_back(static_cast<Axis>(root(index_of(axis))), dividing);
}

void Layout::note(TensorId tensor, const Sharding& from, const Sharding& to, MeshAxisSet over) {
  const AxisLabels& axes = graph_.tensor(tensor).axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<Axis>(root(index_of(axes[i])));
    const Transition transition{axis, used(from.axes[i]), used(to.axes[i]), used(over)};
    divide(axis, transition.from);
    divide(axis, transition.to);
    if (transition.from != transition.to) transitions_.push_back(transition);
  }
}

void Layout::note_reshard(TensorId tensor, const Sharding& from, const Sharding& to) {
  Sharding now = from;
  for (const ReshardStep& step : reshard(graph_, tensor, from, to, mesh_, ReshardOrder::cheapest)) {
    note(tensor, now, step.from, {});
    note(tensor, step.from, step.to, step.over);
    now = step.to;
  }
  note(tensor, now, to, {});
}

// All moves of operands to their operators and of results to where they lie.
void Layout::note_transitions(const ShardingPlan& plan) {
  for (std::size_t id = 0; id < graph_.operators.size(); ++id) {
    const Operator& op = graph_.operators[id];
    const LabelSharding& labels = plan.operators[id];
    const auto note_windows = [&](const Operand& operand) {
      for (const Window& window : operand.windows) {
        const MeshAxisSet over = used(labels[index_of(window.step)]);
        const std::size_t axis = index_of(operand.labels[window.position]);
        if (over.empty() || used(labels[axis]) != over) continue;
        intervals_.emplace_back(static_cast<Axis>(root(axis)), over);
        intervals_.emplace_back(static_cast<Axis>(root(index_of(window.step))), over);
      }
    };
    std::vector<Operand> inputs = op.inputs;
    for (const Operand& parameter : unlisted_parameters(graph_, op)) inputs.push_back(parameter);
    for (const Operand& input : inputs) {
      note_reshard(input.tensor, plan.tensors[static_cast<std::size_t>(input.tensor)], operand_sharding(input, labels));
      note_windows(input);
    }
    for (const Operand& output : op.outputs) {
      note_reshard(output.tensor, result_sharding(op, output, labels),
                   plan.tensors[static_cast<std::size_t>(output.tensor)]);
      note_windows(output);
    }
  }
  for (std::size_t id = 0; id < graph_.tensors.size(); ++id) {
    const TensorId of = graph_.tensors[id].of;
    if (graph_.tensors[id].role != TensorRole::parameter_gradient) continue;
    note_reshard(static_cast<TensorId>(id), plan.tensors[id], plan.tensors[static_cast<std::size_t>(of)]);
  }
  const auto unique = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(transitions_);
  unique(intervals_);
  unique(divisions_);
}

void Layout::choose_orders(bool by_compiler) {
  for (std::size_t axis = 0; axis < graph_.axes.size(); ++axis) {
    const std::size_t own = family(axis);
    if (orders_.contains(own)) continue;
    Order& order = orders_[own];
    for (const MeshAxis digit : mesh_.axes()) order.digits.push_back(digit);
    if (by_compiler && !choose_order(own)) possible_ = false;
  }
}

// Chooses the first order that fits of all orders, digits and intervals. Where divisions lie within each other (over a,
// over a and b) there is only one: the others would all hide a move that the program lacks.
bool Layout::choose_order(std::size_t own) {
  std::set<MeshAxisSet> divisions;
  for (const auto& [axis, by] : divisions_) {
    if (family(index_of(axis)) == own) divisions.insert(by);
  }
  std::vector<MeshAxisSet> chain(divisions.begin(), divisions.end());
  std::sort(chain.begin(), chain.end(), [](MeshAxisSet a, MeshAxisSet b) { return a.size() < b.size(); });
  bool nested = true;
  bool flat = true;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    nested = nested && chain[i].contains(chain[i - 1]);
    for (std::size_t j = 0; j < i; ++j) flat = flat && !chain[i].contains(chain[j]);
  }
  Order& order = orders_[own];
  if (nested) {
    chain.push_back(mesh_.axes());
    order = {{}, true, flat};
    for (const MeshAxisSet by : chain) {
      for (const MeshAxis digit : by) {
        if (std::find(order.digits.begin(), order.digits.end(), digit) == order.digits.end()) {
          order.digits.push_back(digit);
        }
      }
    }
    return keeps_intervals(own);
  }
  std::vector<MeshAxis> digits(order.digits.begin(), order.digits.end());
  do {
    for (const bool intervals : {true, false}) {
      order = {digits, intervals, intervals && flat};
      places_.clear();
      const bool fits = allows(own);
      places_.clear();
      if (fits) return true;
    }
  } while (std::next_permutation(digits.begin(), digits.end()));
  return false;
}

bool Layout::allows(std::size_t own) const {
  for (const auto& [axis, by] : divisions_) {
    if (family(index_of(axis)) != own) continue;
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < devices(); ++device) most = std::max(most, places(axis, by, device).size());
    if (most != part_of(graph_.extent(axis), mesh_.size(by))) return false;
  }
  if (!keeps_intervals(own)) return false;
  return std::all_of(transitions_.begin(), transitions_.end(), [&](const Transition& transition) {
    if (family(index_of(transition.axis)) != own) return true;
    for (std::int64_t device = 0; device < devices(); ++device) {
      const std::vector<std::int64_t> members = group(device, transition.over);
      for (const std::int64_t place : places(transition.axis, transition.to, device)) {
        const bool there = std::any_of(members.begin(), members.end(), [&](std::int64_t member) {
          return places(transition.axis, transition.from, member).contains(place);
        });
        if (!there) return false;
      }
    }
    return true;
  });
}

// Parts of windowed axes are intervals of one size, so that neighbours have the rows at their edges.
bool Layout::keeps_intervals(std::size_t own) const {
  for (const auto& [axis, by] : intervals_) {
    if (family(index_of(axis)) != own) continue;
    const std::int64_t size = part_of(graph_.extent(axis), mesh_.size(by));
    for (std::int64_t device = 0; device < devices(); ++device) {
      const std::int64_t first = part(axis, by, device) * size;
      const std::int64_t end = std::min(first + size, graph_.extent(axis));
      const Places& mine = places(axis, by, device);
      if (mine.size() != std::max<std::int64_t>(end - first, 0)) return false;
      if (mine.size() > 0 && (*mine.begin() != first || *(mine.end() - 1) != end - 1)) return false;
    }
  }
  return true;
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

std::vector<Places> Layout::compute(Axis axis, MeshAxisSet dividing) const {
  const Order& order = orders_.at(family(index_of(axis)));
  const MeshAxisSet all = order.intervals ? dividing : divided_by_[root(index_of(axis))];
  std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(devices()));
  const std::int64_t flat = part_of(graph_.extent(axis), mesh_.size(dividing));
  for (std::int64_t device = 0; device < devices(); ++device) {
    for (std::int64_t place = 0; place < graph_.extent(axis); ++place) {
      if (order.flat) {
        if (place / flat == part(axis, dividing, device)) out[static_cast<std::size_t>(device)].push_back(place);
        continue;
      }
      std::int64_t rest = place;
      std::int64_t size = graph_.extent(axis);
      bool mine = true;
      for (const MeshAxis by : order.digits) {
        if (!all.contains(by)) continue;
        const std::int64_t part = part_of(size, mesh_.size(by));
        if (dividing.contains(by)) mine = mine && rest / part == coordinate(device, by);
        rest %= part;
        size = part;
      }
      if (mine) out[static_cast<std::size_t>(device)].push_back(place);
    }
  }
  std::vector<Places> places;
  for (std::vector<std::int64_t>& of_device : out) places.emplace_back(std::move(of_device));
  return places;
}

const Places& Layout::places(Axis axis, MeshAxisSet dividing, std::int64_t device) const {
  const auto key = std::pair(index_of(axis), used(dividing));
  auto found = places_.find(key);
  if (found == places_.end()) found = places_.emplace(key, compute(axis, key.second)).first;
  return found->second[static_cast<std::size_t>(device)];
}

std::int64_t Layout::part(Axis axis, MeshAxisSet dividing, std::int64_t device) const {
  std::int64_t out = 0;
  for (const MeshAxis by : orders_.at(family(index_of(axis))).digits) {
    if (dividing.contains(by)) out = out * mesh_.size(by) + coordinate(device, by);
  }
  return out;
}

std::int64_t Layout::device_of_part(Axis axis, MeshAxisSet dividing, std::int64_t device, std::int64_t part) const {
  for (const std::int64_t member : group(device, dividing)) {
    if (this->part(axis, dividing, member) == part) return member;
  }
  return -1;
}

std::vector<Places> Layout::parts(Axis axis, MeshAxisSet dividing) const {
  std::vector<Places> out;
  for (std::int64_t device = 0; device < devices(); ++device) {
    const Places& own = places(axis, dividing, device);
    if (own.size() > 0 && std::find(out.begin(), out.end(), own) == out.end()) out.push_back(own);
  }
  return out;
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
