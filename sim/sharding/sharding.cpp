#include "sharding/sharding.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

std::string_view name_of(CollectiveKind kind) {
  constexpr std::array<std::string_view, 6> names = {"all-reduce", "all-gather", "reduce-scatter",
                                                     "all-to-all", "broadcast",  "shift"};
  return names[static_cast<std::size_t>(kind)];
}

double local_bytes(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh) {
  double bytes = graph.bytes(tensor);
  for (const MeshAxisSet axes : sharding.axes) bytes /= static_cast<double>(mesh.size(axes));
  return bytes;
}

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::size_t axis_divided_by(const Sharding& sharding, MeshAxis mesh_axis) {
  for (std::size_t i = 0; i < sharding.axes.size(); ++i) {
    if (sharding.axes[i].contains(mesh_axis)) return i;
  }
  return kNowhere;
}

}  // namespace

std::vector<ReshardStep> reshard(const OperatorGraph& graph, TensorId tensor, Sharding from, const Sharding& to,
                                 const DeviceMesh& mesh) {
  std::vector<ReshardStep> steps;
  const auto step = [&](CollectiveKind kind, MeshAxis over, double bytes, const Sharding& now, const Sharding& then) {
    if (mesh.size(over) == 1) return;
    const bool moves = kind == CollectiveKind::all_to_all;
    if (!moves || steps.empty() || steps.back().kind != kind) {
      steps.push_back({kind, MeshAxisSet(over), bytes, now, then});
    } else {
      steps.back().over.insert(over);
      steps.back().to = then;
    }
  };
  MeshAxisSet concerned = from.partial;
  for (const MeshAxisSet axes : from.axes) concerned.insert(axes);
  for (const MeshAxisSet axes : to.axes) concerned.insert(axes);
  for (const MeshAxis over : concerned) {
    const std::size_t before = axis_divided_by(from, over);
    const std::size_t after = axis_divided_by(to, over);
    const double bytes_before = local_bytes(graph, tensor, from, mesh);
    Sharding then = from;
    then.partial.erase(over);
    if (before != kNowhere) then.axes[before].erase(over);
    if (after != kNowhere) then.axes[after].insert(over);
    if (from.partial.contains(over)) {
      const CollectiveKind sum = after == kNowhere ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
      step(sum, over, bytes_before, from, then);
    } else if (before != kNowhere && after == kNowhere) {
      step(CollectiveKind::all_gather, over, bytes_before * mesh.size(over), from, then);
    } else if (before != kNowhere && before != after) {
      step(CollectiveKind::all_to_all, over, bytes_before, from, then);
    }
    from = then;
  }
  return steps;
}

}  // namespace mirfak
