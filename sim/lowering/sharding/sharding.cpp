#include "sharding/sharding.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace mirfak {

std::string_view name_of(CollectiveKind kind) {
  constexpr std::array<std::string_view, 6> names = {"all-reduce", "all-gather", "reduce-scatter",
                                                     "all-to-all", "broadcast",  "shift"};
  return names[static_cast<std::size_t>(kind)];
}

TensorSize size_of(const OperatorGraph& graph, TensorId tensor) {
  TensorSize out{graph.bytes(tensor), {}};
  for (const Axis axis : graph.tensor(tensor).axes) out.extents.push_back(graph.extent(axis));
  return out;
}

double local_bytes(const TensorSize& tensor, const Sharding& sharding, const DeviceMesh& mesh) {
  double bytes = tensor.bytes;
  for (std::size_t i = 0; i < sharding.axes.size(); ++i) {
    if (sharding.axes[i].empty()) continue;
    const std::int64_t parts = mesh.size(sharding.axes[i]);
    bytes /= static_cast<double>(parts);
    const std::int64_t extent = tensor.extents[i];
    if (extent % parts == 0) continue;
    bytes *= static_cast<double>(part_of(extent, parts) * parts) / static_cast<double>(extent);  // padding
  }
  return bytes;
}

double local_bytes(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh) {
  return local_bytes(size_of(graph, tensor), sharding, mesh);
}

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::size_t axis_divided_by(const Sharding& sharding, MeshAxis mesh_axis) {
  for (std::size_t i = 0; i < sharding.axes.size(); ++i) {
    if (sharding.axes[i].contains(mesh_axis)) return i;
  }
  return kNowhere;
}

MeshAxisSet mesh_axes_of(const Sharding& sharding) {
  MeshAxisSet out = sharding.partial;
  for (const MeshAxisSet axes : sharding.axes) out.insert(axes);
  return out;
}

// Returns the size of a collective (ReshardStep::bytes). Buffers that are cut into parts are padded to equal parts
// first, and parts that are put together include their padding.
double buffer_bytes(const TensorSize& tensor, const ReshardStep& step, const DeviceMesh& mesh) {
  const auto parts = static_cast<double>(mesh.size(step.over));
  switch (step.kind) {
    case CollectiveKind::all_gather:
      return parts * local_bytes(tensor, step.from, mesh);
    case CollectiveKind::reduce_scatter:
      return parts * local_bytes(tensor, step.to, mesh);
    case CollectiveKind::all_to_all: {
      Sharding message = step.from;  // the message from one device to another
      for (std::size_t i = 0; i < message.axes.size(); ++i) message.axes[i].insert(step.to.axes[i]);
      return parts * local_bytes(tensor, message, mesh);
    }
    default:
      return local_bytes(tensor, step.from, mesh);
  }
}

// One move of a mesh axis to its target position: nothing is ever moved twice, so only the order is left to choose.
struct Move {
  std::optional<ReshardStep> step;  // none: each device takes its slice
  Sharding then;
  double wire_bytes = 0;  // sent by one device
};

class Resharding {
 public:
  Resharding(const TensorSize& tensor, const Sharding& to, const DeviceMesh& mesh)
      : tensor_(tensor), to_(to), mesh_(mesh) {}

  // Returns the move of one mesh axis from its current position to its target; nullopt: it is already there.
  std::optional<Move> move(const Sharding& now, MeshAxis over) const {
    const std::size_t before = axis_divided_by(now, over);
    const std::size_t after = axis_divided_by(to_, over);
    const bool partial = now.partial.contains(over) && !to_.partial.contains(over);
    if (before == after && !partial) return std::nullopt;
    Move out{{}, now, 0};
    if (partial) out.then.partial.erase(over);
    if (before != kNowhere) out.then.axes[before].erase(over);
    if (after != kNowhere) out.then.axes[after].insert(over);
    if (mesh_.size(over) == 1 || (!partial && before == kNowhere)) return out;
    const CollectiveKind kind = partial && after == kNowhere ? CollectiveKind::all_reduce
                                : partial                    ? CollectiveKind::reduce_scatter
                                : after == kNowhere          ? CollectiveKind::all_gather
                                                             : CollectiveKind::all_to_all;
    out.step = {kind, MeshAxisSet(over), 0, now, out.then};
    out.step->bytes = buffer_bytes(tensor_, *out.step, mesh_);
    const double others = 1 - 1 / static_cast<double>(mesh_.size(over));
    out.wire_bytes = (kind == CollectiveKind::all_reduce ? 2 : 1) * others * out.step->bytes;
    return out;
  }

  // Returns the move in which one mesh axis takes the place of another of its size: parts go to other devices
  // unchanged.
  std::optional<Move> exchange(const Sharding& now, MeshAxis out_of, MeshAxis into) const {
    const std::size_t place = axis_divided_by(now, out_of);
    if (place == kNowhere || mesh_.size(out_of) == 1 || mesh_.size(out_of) != mesh_.size(into)) return std::nullopt;
    const bool wanted = axis_divided_by(to_, into) == place && axis_divided_by(to_, out_of) == kNowhere;
    if (!wanted || mesh_axes_of(now).contains(into)) return std::nullopt;
    Move out{{}, now, local_bytes(tensor_, now, mesh_)};
    out.then.axes[place].erase(out_of);
    out.then.axes[place].insert(into);
    out.step = {CollectiveKind::shift, {out_of, into}, out.wire_bytes, now, out.then};
    return out;
  }

  std::vector<Move> in_order_of_mesh(const Sharding& from) const {
    MeshAxisSet concerned = mesh_axes_of(from);
    concerned.insert(mesh_axes_of(to_));
    std::vector<Move> moves;
    for (const MeshAxis over : concerned) {
      if (auto found = move(moves.empty() ? from : moves.back().then, over)) moves.push_back(*found);
    }
    return moves;
  }

  // Returns the cheapest order of the remaining moves, found by trying all orders; among equally cheap orders the first
  // in the order of the mesh.
  std::pair<double, std::vector<Move>> cheapest(const Sharding& now, double bound) const {
    MeshAxisSet left = mesh_axes_of(now);
    left.insert(mesh_axes_of(to_));
    std::vector<Move> moves;
    for (const MeshAxis over : left) {
      if (auto found = move(now, over)) moves.push_back(*found);
      for (const MeshAxis other : left) {
        if (auto found = exchange(now, over, other)) moves.push_back(*found);
      }
    }
    if (moves.empty()) return {0, {}};
    // Slicing first only reduces the data that is left to move.
    const auto slice = std::find_if(moves.begin(), moves.end(), [](const Move& move) { return !move.step; });
    const bool swaps = std::any_of(moves.begin(), moves.end(), [](const Move& move) {
      return move.step && move.step->kind == CollectiveKind::shift;
    });
    if (slice != moves.end() && !swaps) moves = {*slice};
    std::pair<double, std::vector<Move>> best{std::numeric_limits<double>::infinity(), {}};
    for (const Move& move : moves) {
      if (move.wire_bytes >= std::min(bound, best.first)) continue;
      auto [rest, then] = cheapest(move.then, std::min(bound, best.first) - move.wire_bytes);
      if (move.wire_bytes + rest >= best.first) continue;
      best.first = move.wire_bytes + rest;
      then.insert(then.begin(), move);
      best.second = std::move(then);
    }
    return best;
  }

 private:
  const TensorSize& tensor_;
  const Sharding& to_;
  const DeviceMesh& mesh_;
};

}  // namespace

std::vector<ReshardStep> reshard(const TensorSize& tensor, const Sharding& from, const Sharding& to,
                                 const DeviceMesh& mesh, ReshardOrder order) {
  const Resharding resharding(tensor, to, mesh);
  const std::vector<Move> moves = order == ReshardOrder::of_mesh
                                      ? resharding.in_order_of_mesh(from)
                                      : resharding.cheapest(from, std::numeric_limits<double>::infinity()).second;
  std::vector<ReshardStep> steps;
  for (const Move& move : moves) {
    if (!move.step) continue;
    const CollectiveKind kind = move.step->kind;
    const bool at_once =
        kind == CollectiveKind::all_to_all || (kind == CollectiveKind::all_reduce && order == ReshardOrder::cheapest);
    if (at_once && !steps.empty() && steps.back().kind == kind) {
      steps.back().over.insert(move.step->over);
      steps.back().to = move.step->to;
      steps.back().bytes = buffer_bytes(tensor, steps.back(), mesh);
    } else {
      steps.push_back(*move.step);
    }
  }
  return steps;
}

std::vector<ReshardStep> reshard(const OperatorGraph& graph, TensorId tensor, const Sharding& from, const Sharding& to,
                                 const DeviceMesh& mesh, ReshardOrder order) {
  if (!from.partial.empty() && graph.tensor(tensor).added_for_kernel) {
    Sharding added = from;
    added.partial = {};
    if (added != to) {
      std::vector<ReshardStep> steps = reshard(graph, tensor, from, added, mesh, order);
      for (const ReshardStep& step : reshard(graph, tensor, added, to, mesh, order)) steps.push_back(step);
      return steps;
    }
  }
  return reshard(size_of(graph, tensor), from, to, mesh, order);
}

}  // namespace mirfak
