#pragma once

#include "interpreter/piece.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak::interpreter {

// Who holds what on a mesh. Every mesh axis that divides an axis of tensors, anywhere in a program, says one digit of
// an element's place: the first mesh axis the most significant one. So each of them divides independently of the others
// (device_mesh.hpp), and what a device holds under two is what it holds under both.
class Layout {
 public:
  // Axes that any operand reads as one another (keys as tokens) are divided alike. `plan` says who divides what.
  Layout(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan);

  std::int64_t devices() const { return mesh_.devices(); }
  const DeviceMesh& mesh() const { return mesh_; }
  int coordinate(std::int64_t device, MeshAxis axis) const;
  // The device at another coordinate of one mesh axis.
  std::int64_t moved(std::int64_t device, MeshAxis axis, int coordinate) const;
  // Devices that differ from this one on these mesh axes only, itself among them, in order.
  std::vector<std::int64_t> group(std::int64_t device, MeshAxisSet over) const;

  Places places(Axis axis, MeshAxisSet dividing, std::int64_t device) const;
  Box box(TensorId tensor, const Sharding& sharding, std::int64_t device) const;
  Ranges ranges(const LabelSharding& labels, std::int64_t device) const;
  // Whether every axis can be divided into equal parts by all that divide it anywhere.
  bool is_even() const;

 private:
  std::size_t root(std::size_t axis) const;
  void join(Axis a, Axis b);
  void divide(Axis axis, MeshAxisSet by);

  const OperatorGraph& graph_;
  const DeviceMesh& mesh_;
  std::vector<std::size_t> same_;        // by axis: another that is divided alike
  std::vector<MeshAxisSet> divided_by_;  // by root
};

}  // namespace mirfak::interpreter
