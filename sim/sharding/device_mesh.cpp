#include "sharding/device_mesh.hpp"

namespace mirfak {

std::string_view name_of(MeshAxis axis) {
  constexpr std::array<std::string_view, kMeshAxes> names = {"data", "expert", "context", "tensor"};
  return names[static_cast<std::size_t>(axis)];
}

int DeviceMesh::size(MeshAxis axis) const {
  switch (axis) {
    case MeshAxis::data:
      return data;
    case MeshAxis::expert:
      return expert;
    case MeshAxis::context:
      return context;
    case MeshAxis::tensor:
      break;
  }
  return tensor;
}

std::int64_t DeviceMesh::size(MeshAxisSet axes) const {
  std::int64_t product = 1;
  for (const MeshAxis axis : kAllMeshAxes) {
    if (axes.contains(axis)) product *= size(axis);
  }
  return product;
}

}  // namespace mirfak
