#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace mirfak {

// The axes of the device mesh that tensors are sharded over. Pipeline stages are not among them: a stage is a
// different program, not a piece of a tensor.
enum class MeshAxis : std::uint8_t {
  data,    // replicas
  expert,  // neighbouring replicas that divide experts among them: with `data` all data-parallel replicas
  context,
  tensor,
};
inline constexpr std::size_t kMeshAxes = 4;
inline constexpr std::array<MeshAxis, kMeshAxes> kAllMeshAxes = {MeshAxis::data, MeshAxis::expert, MeshAxis::context,
                                                                 MeshAxis::tensor};
std::string_view name_of(MeshAxis axis);

// A small set of mesh axes.
class MeshAxisSet {
 public:
  constexpr MeshAxisSet() = default;
  constexpr explicit MeshAxisSet(MeshAxis axis) : bits_(bit(axis)) {}
  constexpr MeshAxisSet(std::initializer_list<MeshAxis> axes) {
    for (const MeshAxis axis : axes) insert(axis);
  }

  constexpr bool contains(MeshAxis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr void insert(MeshAxis axis) { bits_ = static_cast<std::uint8_t>(bits_ | bit(axis)); }
  constexpr void insert(MeshAxisSet other) { bits_ = static_cast<std::uint8_t>(bits_ | other.bits_); }
  constexpr void erase(MeshAxis axis) { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(axis)); }
  friend constexpr auto operator<=>(MeshAxisSet, MeshAxisSet) = default;

 private:
  static constexpr std::uint8_t bit(MeshAxis axis) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(axis));
  }
  std::uint8_t bits_ = 0;
};

// Sizes of the mesh axes; 1: not used.
struct DeviceMesh {
  int data = 1;
  int context = 1;
  int tensor = 1;
  int expert = 1;

  int size(MeshAxis axis) const;
  std::int64_t size(MeshAxisSet axes) const;
};

}  // namespace mirfak
