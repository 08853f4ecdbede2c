#include "alpa/logical_mesh.hpp"

#include "base/error.hpp"

namespace mirfak::alpa {

namespace {

std::size_t place_of(MeshAxisSet over) {
  return (over.contains(kRows) ? 1U : 0U) + (over.contains(kColumns) ? 2U : 0U);
}

}  // namespace

const CommunicationGroup& LogicalMesh::group(MeshAxisSet over) const { return groups[place_of(over)]; }

LogicalMesh logical_mesh(const Cluster& cluster, int nodes, int gpus, int rows, int columns) {
  if (rows * columns != nodes * gpus) fail_internal("a logical mesh that has not the devices of its submesh");
  const NodeGroup& type = cluster.groups().front();
  if (nodes > type.count || gpus > type.hardware.spec.gpus) fail_internal("a submesh beyond the cluster");
  std::vector<int> devices;
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) devices.push_back(node * type.hardware.spec.gpus + gpu);
  }
  LogicalMesh out;
  out.rows = rows;
  out.columns = columns;
  out.mesh = DeviceMesh({{"rows", rows}, {"columns", columns}});
  for (const MeshAxisSet over :
       {MeshAxisSet(), MeshAxisSet(kRows), MeshAxisSet(kColumns), MeshAxisSet{kRows, kColumns}}) {
    std::vector<int> members;
    for (int row = 0; row < (over.contains(kRows) ? rows : 1); ++row) {
      for (int column = 0; column < (over.contains(kColumns) ? columns : 1); ++column) {
        members.push_back(devices[static_cast<std::size_t>(row * columns + column)]);
      }
    }
    out.groups[place_of(over)] = communication_group(cluster, members);
  }
  return out;
}

double seconds_of(const std::vector<ReshardStep>& steps, const LogicalMesh& mesh, const CollectiveModel& collectives) {
  double seconds = 0;
  for (const ReshardStep& step : steps)
    seconds += collectives.price(step.kind, step.bytes, mesh.group(step.over)).seconds;
  return seconds;
}

}  // namespace mirfak::alpa
