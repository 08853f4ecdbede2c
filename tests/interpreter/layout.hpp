#pragma once

#include "interpreter/piece.hpp"
#include "sharding/partition.hpp"

#include <map>
#include <utility>
#include <vector>

namespace mirfak::interpreter {

// The parts of tensors that devices of a mesh hold. They are as equal as they can be; of an axis that does not divide,
// the last are smaller, or empty. Where several mesh axes divide an axis, each says one digit of a part's place. Rules
// (ShardingPlan::by_compiler is false) have the first mesh axis say the most significant digit, everywhere. A compiler
// chooses for each axis of the graph, and may choose the places that a device has under some of the mesh axes:
//
//   digits    those that it would have under all mesh axes that divide the axis anywhere, and the same digits
//   intervals one after the other, with no regard to other mesh axes
//
// so that what the program moves without a collective, or by one among a few devices, is there.
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

  const Places& places(Axis axis, MeshAxisSet dividing, std::int64_t device) const;
  Box box(TensorId tensor, const Sharding& sharding, std::int64_t device) const;
  Ranges ranges(const LabelSharding& labels, std::int64_t device) const;
  // The number of a device's part of an axis, among those that these mesh axes make; and the device of its group that
  // has another part; -1: there is no such part.
  std::int64_t part(Axis axis, MeshAxisSet dividing, std::int64_t device) const;
  std::int64_t device_of_part(Axis axis, MeshAxisSet dividing, std::int64_t device, std::int64_t part) const;
  // The parts of an axis that some device has.
  std::vector<Places> parts(Axis axis, MeshAxisSet dividing) const;
  // True if every axis can be divided into equal parts by all that divide it anywhere.
  bool is_even() const;
  // True if devices can have parts so that each move of the plan is among the devices that it names and edges are
  // those of neighbours: not where an axis is divided over a, over b and over both, and its parts must be intervals.
  bool is_possible() const { return possible_; }

 private:
  // The order in which places of an axis are given to devices: mesh axes from the most significant digit on.
  struct Order {
    std::vector<MeshAxis> digits;
    bool intervals = false;
    bool flat = false;  // intervals of equal size: no division lies within another
  };
  // An axis of a tensor that goes from one division to another, among the devices of a group; none: in place.
  struct Transition {
    Axis axis{};
    MeshAxisSet from;
    MeshAxisSet to;
    MeshAxisSet over;
    friend auto operator<=>(const Transition&, const Transition&) = default;
  };

  std::size_t root(std::size_t axis) const;
  void join(Axis a, Axis b);
  std::size_t family(std::size_t axis) const;
  void divide(Axis axis, MeshAxisSet by);
  MeshAxisSet used(MeshAxisSet axes) const;
  void join_axes(bool by_compiler);
  void note(TensorId tensor, const Sharding& from, const Sharding& to, MeshAxisSet over);
  void note_reshard(TensorId tensor, const Sharding& from, const Sharding& to);
  void note_transitions(const ShardingPlan& plan);
  void choose_orders(bool by_compiler);
  bool choose_order(std::size_t family);
  bool allows(std::size_t family) const;
  bool keeps_intervals(std::size_t family) const;
  std::vector<Places> compute(Axis axis, MeshAxisSet dividing) const;

  const OperatorGraph& graph_;
  const DeviceMesh& mesh_;
  std::vector<std::size_t> same_;        // by axis: another that is divided alike
  std::vector<std::size_t> same_order_;  // ... whose parts follow each other alike: steps and windowed axes
  std::vector<MeshAxisSet> divided_by_;  // by root
  std::map<std::size_t, Order> orders_;  // by family
  std::vector<Transition> transitions_;  // of plans by a compiler
  std::vector<std::pair<Axis, MeshAxisSet>> intervals_;  // divisions whose parts must be intervals: of windows
  std::vector<std::pair<Axis, MeshAxisSet>> divisions_;  // all
  bool possible_ = true;
  mutable std::map<std::pair<std::size_t, MeshAxisSet>, std::vector<Places>> places_;  // by axis; by device
};

}  // namespace mirfak::interpreter
