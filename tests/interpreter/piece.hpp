#pragma once

#include "graph/operator_graph.hpp"

#include <Eigen/Core>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak::interpreter {

// Places of an axis in a row: begin, begin + 1, ... It may be empty.
struct Range {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  std::int64_t end() const { return begin + size; }
  bool contains(std::int64_t place) const { return place >= begin && place < end(); }
  bool contains(Range other) const { return other.size == 0 || (other.begin >= begin && other.end() <= end()); }
  friend bool operator==(Range, Range) = default;
};
using Box = std::vector<Range>;     // of a tensor: by its axes, in their order
using Ranges = std::vector<Range>;  // of a kernel: by the axes of the graph

// The whole of every axis of a graph.
Ranges whole_ranges(const OperatorGraph& graph);
Box whole_box(const OperatorGraph& graph, TensorId tensor);
// The part of an operand that a kernel over these ranges touches; an axis with a window is touched as its own range
// says.
Box box_of(const Operand& operand, const Ranges& ranges);

// A rectangular part of a tensor, row by row. Places are those of the whole tensor.
struct Piece {
  Box box;
  Eigen::ArrayXd values;

  Piece() = default;
  explicit Piece(Box of);  // of zeros

  // The offset of a place; -1 outside.
  std::int64_t offset(std::span<const std::int64_t> place) const;
  // The part of this piece in a box that lies within its own.
  Piece part(const Box& inner) const;
  // Adds (or writes) the values of another piece where both have places.
  void add(const Piece& other);
  void write(const Piece& other);
};
std::int64_t count(const Box& box);
bool contains(const Box& outer, const Box& inner);
// The places that both boxes have.
Box common(const Box& a, const Box& b);

// Where a kernel is: a place for each axis of the graph.
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
  const Range range = ranges[index_of(label)];
  for (std::int64_t place = range.begin; place < range.end(); ++place) {
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
  // Zero outside of the piece.
  double read_if_there(const Position& at) const;

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
