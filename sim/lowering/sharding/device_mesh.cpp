#include "sharding/device_mesh.hpp"

namespace mirfak {

MeshAxisSet DeviceMesh::axes() const {
  MeshAxisSet out;
  for (std::size_t i = 0; i < axes_.size(); ++i) out.insert(static_cast<MeshAxis>(i));
  return out;
}

std::optional<MeshAxis> DeviceMesh::find(std::string_view name) const {
  for (const MeshAxis axis : axes()) {
    if (name_of(axis) == name) return axis;
  }
  return std::nullopt;
}

std::int64_t DeviceMesh::size(MeshAxisSet axes) const {
  std::int64_t product = 1;
  for (const MeshAxis axis : axes) product *= size(axis);
  return product;
}

std::string DeviceMesh::names_of(MeshAxisSet axes) const {
  std::string out;
  for (const MeshAxis axis : axes) out += (out.empty() ? "" : ",") + std::string(name_of(axis));
  return out;
}

}  // namespace mirfak
