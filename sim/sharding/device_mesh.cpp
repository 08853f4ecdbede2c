#include "sharding/device_mesh.hpp"

namespace mirfak {

std::string_view name_of(MeshAxis axis) { return axis == MeshAxis::data ? "data" : "tensor"; }

std::int64_t DeviceMesh::size(MeshAxisSet axes) const {
  std::int64_t product = 1;
  for (const MeshAxis axis : kAllMeshAxes) {
    if (axes.contains(axis)) product *= size(axis);
  }
  return product;
}

}  // namespace mirfak
