#pragma once

#include "cluster/cluster.hpp"
#include "cost/collective_model.hpp"
#include "sharding/device_mesh.hpp"
#include "sharding/sharding.hpp"

#include <array>
#include <vector>

namespace mirfak::alpa {

// The two axes of a logical mesh.
inline constexpr MeshAxis kRows = static_cast<MeshAxis>(0);
inline constexpr MeshAxis kColumns = static_cast<MeshAxis>(1);

// Devices of a submesh (whole nodes, or a part of one) arranged in rows and columns (arXiv 2201.12023, section 4.1).
// Device r * columns + c of the submesh has row r and column c, so that neighbours in a row are neighbours in the
// machine. The other assignment of the axes to the machine is the mesh with rows and columns exchanged.
struct LogicalMesh {
  int rows = 1;
  int columns = 1;
  DeviceMesh mesh;                           // axes kRows and kColumns
  std::array<CommunicationGroup, 4> groups;  // index: a bit for kRows and one for kColumns

  int devices() const { return rows * columns; }
  const CommunicationGroup& group(MeshAxisSet over) const;
};

// Returns the mesh of the first `gpus` devices of each of the first `nodes` nodes of a cluster of one type; rows *
// columns = nodes * gpus.
LogicalMesh logical_mesh(const Cluster& cluster, int nodes, int gpus, int rows, int columns);

// Returns the seconds of the collectives of `steps`, one after the other.
double seconds_of(const std::vector<ReshardStep>& steps, const LogicalMesh& mesh, const CollectiveModel& collectives);

}  // namespace mirfak::alpa
