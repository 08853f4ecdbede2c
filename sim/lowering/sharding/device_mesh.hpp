#pragma once

#include "graph/inline_list.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// An axis of a device mesh, by its position in the mesh (DeviceMesh::axes). The named values are the axes of the mesh
// that a strategy makes (mesh_of); any other mesh names its own axes. Pipeline stages are not an axis of the mesh: a
// stage is a different program, not a piece of a tensor.
enum class MeshAxis : std::uint8_t {
  data,    // replicas
  expert,  // neighboring replicas that divide experts among them: `data` and `expert` together are all data-parallel
           // replicas
  context,
  tensor,
  heads,  // neighboring context ranks that divide heads inside attention (Strategy::context_heads): `context` then has
          // the groups of these ranks; the mesh of a strategy without them does not have the axis
};
inline constexpr std::size_t kMaxMeshAxes = 8;

// A set of mesh axes, visited in the order of the mesh.
//
// If several mesh axes divide one axis of a tensor, they are independent of each other: each mesh axis gives one digit
// of the position of a device's part, and the first mesh axis the most significant digit. Therefore a gather or a slice
// along one of these mesh axes involves only the devices of that mesh axis.
class MeshAxisSet {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(unsigned bits) : bits_(bits) {}
    constexpr MeshAxis operator*() const { return static_cast<MeshAxis>(std::countr_zero(bits_)); }
    constexpr Iterator& operator++() {
      bits_ &= bits_ - 1U;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    unsigned bits_;
  };

  constexpr MeshAxisSet() = default;
  constexpr explicit MeshAxisSet(MeshAxis axis) : bits_(bit(axis)) {}
  constexpr MeshAxisSet(std::initializer_list<MeshAxis> axes) {
    for (const MeshAxis axis : axes) insert(axis);
  }

  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }
  constexpr bool contains(MeshAxis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr bool contains(MeshAxisSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool intersects(MeshAxisSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }
  constexpr MeshAxisSet common(MeshAxisSet other) const {
    other.bits_ = static_cast<std::uint8_t>(other.bits_ & bits_);
    return other;
  }
  constexpr void insert(MeshAxis axis) { bits_ = static_cast<std::uint8_t>(bits_ | bit(axis)); }
  constexpr void insert(MeshAxisSet other) { bits_ = static_cast<std::uint8_t>(bits_ | other.bits_); }
  constexpr void erase(MeshAxis axis) { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(axis)); }
  constexpr void erase(MeshAxisSet other) { bits_ = static_cast<std::uint8_t>(bits_ & ~other.bits_); }
  friend constexpr auto operator<=>(MeshAxisSet, MeshAxisSet) = default;

 private:
  static constexpr std::uint8_t bit(MeshAxis axis) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(axis));
  }
  std::uint8_t bits_ = 0;
};

// Returns the part of an axis that each of `parts` devices holds: parts are equal, so the last one may hold padding.
constexpr std::int64_t part_of(std::int64_t extent, std::int64_t parts) { return (extent + parts - 1) / parts; }

// Devices in a grid of up to kMaxMeshAxes named axes. An axis that the mesh does not have has size 1; an axis of the
// mesh may have size 1 as well, and then divides nothing.
class DeviceMesh {
 public:
  struct AxisOfDevices {
    std::string name;
    int size = 1;
  };

  DeviceMesh() = default;
  // Error(internal) beyond kMaxMeshAxes axes: code that takes meshes from users checks the number before.
  DeviceMesh(std::initializer_list<AxisOfDevices> axes) : axes_(axes) {}

  void add(const AxisOfDevices& axis) { axes_.push_back(axis); }
  std::size_t rank() const { return axes_.size(); }
  MeshAxisSet axes() const;
  std::optional<MeshAxis> find(std::string_view name) const;
  std::string_view name_of(MeshAxis axis) const { return axes_[static_cast<std::size_t>(axis)].name; }
  std::string names_of(MeshAxisSet axes) const;  // "data,tensor"
  int size(MeshAxis axis) const { return axes_[static_cast<std::size_t>(axis)].size; }
  std::int64_t size(MeshAxisSet axes) const;
  std::int64_t devices() const { return size(axes()); }

 private:
  InlineList<AxisOfDevices, kMaxMeshAxes> axes_;
};

}  // namespace mirfak
