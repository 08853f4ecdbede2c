#pragma once

#include "graph/operator_graph.hpp"

#include <Eigen/Core>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak::interpreter {

// Places of an axis, ascending; there may be none.
class Places {
 public:
  Places() = default;
  explicit Places(std::vector<std::int64_t> places);
  static Places all(std::int64_t extent);

  std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }
  // The number of a place among these; -1: it is not among them.
  std::int64_t index(std::int64_t place) const {
    return place < 0 || place >= static_cast<std::int64_t>(index_.size()) ? -1
                                                                          : index_[static_cast<std::size_t>(place)];
  }
  bool contains(std::int64_t place) const { return index(place) >= 0; }
  bool contains(const Places& other) const;
  auto begin() const { return places_.begin(); }
  auto end() const { return places_.end(); }
  friend bool operator==(const Places& a, const Places& b) { return a.places_ == b.places_; }

 private:
  std::vector<std::int64_t> places_;
  std::vector<std::int64_t> index_;  // by place
};
using Box = std::vector<Places>;     // of a tensor: by its axes, in their order
using Ranges = std::vector<Places>;  // of a kernel: by the axes of the graph

// The whole of every axis of a graph.
Ranges whole_ranges(const OperatorGraph& graph);
Box whole_box(const OperatorGraph& graph, TensorId tensor);
// The part of an operand that a kernel over these ranges touches. Of an axis with a window this is its own range, and
// wherever the steps and taps within theirs point to.
Box box_of(const OperatorGraph& graph, const Operand& operand, const Ranges& ranges);

// A part of a tensor: the elements at some places of each axis, row by row. Places are those of the whole tensor.
struct Piece {
  Box box;
  Eigen::ArrayXd values;

  Piece() = default;
  explicit Piece(Box of);  // of zeros

  // The offset of a place; -1 outside.
  std::int64_t offset(std::span<const std::int64_t> place) const;
  // The part of this piece in a box that lies within its own.
  Piece part(const Box& inner) const;
  // Adds (or writes) the values of another piece where both have places; returns how many these are.
  std::int64_t add(const Piece& other);
  std::int64_t write(const Piece& other);
};
std::int64_t count(const Box& box);
bool contains(const Box& outer, const Box& inner);
// The places that both boxes have.
Box common(const Box& a, const Box& b);

// The position of a kernel: a place for each axis of the graph.
struct Position {
  std::array<std::int64_t, kMaxAxes> place{};
  std::int64_t& operator[](Axis axis) { return place[index_of(axis)]; }
  std::int64_t operator[](Axis axis) const { return place[index_of(axis)]; }
};

// Calls visit(position) for every place of these labels within their ranges, the last label fastest.
template <typename Visit>
void for_each(std::span<const Axis> labels, const Ranges& ranges, Position& at, const Visit& visit) {
  if (labels.empty()) return visit();
  const Axis label = labels.front();
  for (const std::int64_t place : ranges[index_of(label)]) {
    at[label] = place;
    for_each(labels.subspan(1), ranges, at, visit);
  }
}

// An operand of a kernel and the piece that it reads or writes.
class Access {
 public:
  Access(const OperatorGraph& graph, const Operand& operand, const Piece& piece);

  // The offset of the element at a position; -1 where there is none: outside of the piece, or of the tensor where a
  // window reaches over its end.
  std::int64_t offset(const Position& at) const;
  // Zero where a window reaches over the end of the tensor. Error(internal) outside of the piece: the device lacks what
  // its kernel reads.
  double read(const Position& at) const;

 private:
  const OperatorGraph* graph_;
  const Operand* operand_;
  const Piece* piece_;
  std::vector<std::int64_t> strides_;
};

// Labels of all lists, each once, in the order in which they come.
std::vector<Axis> all_labels(std::span<const Operand> operands);
std::vector<Axis> labels_of(const Operand& operand);
std::vector<Axis> without(std::span<const Axis> labels, std::span<const Axis> dropped);
bool holds(std::span<const Axis> labels, Axis label);

// A number in [0, 1) that depends on a name and a place of a tensor alone.
double noise(std::string_view name, std::uint64_t place);
// The number of an element of a whole tensor.
std::uint64_t flat(const OperatorGraph& graph, std::span<const Axis> labels, const Position& at);

}  // namespace mirfak::interpreter
