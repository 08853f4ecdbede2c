#include "piece.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

namespace mirfak::interpreter {

Places::Places(std::vector<std::int64_t> places) : places_(std::move(places)) {
  if (!places_.empty()) index_.assign(static_cast<std::size_t>(places_.back()) + 1, -1);
  for (std::size_t i = 0; i < places_.size(); ++i)
    index_[static_cast<std::size_t>(places_[i])] = static_cast<std::int64_t>(i);
}

Places Places::all(std::int64_t extent) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(extent));
  std::iota(places.begin(), places.end(), std::int64_t{0});
  return Places(std::move(places));
}

bool Places::contains(const Places& other) const {
  return std::all_of(other.begin(), other.end(), [this](std::int64_t place) { return contains(place); });
}

Ranges whole_ranges(const OperatorGraph& graph) {
  Ranges out;
  for (const AxisInfo& axis : graph.axes) out.push_back(Places::all(axis.extent));
  return out;
}

Box whole_box(const OperatorGraph& graph, TensorId tensor) {
  Box out;
  for (const Axis axis : graph.tensor(tensor).axes) out.push_back(Places::all(graph.extent(axis)));
  return out;
}

Box box_of(const OperatorGraph& graph, const Operand& operand, const Ranges& ranges) {
  Box out;
  for (const Axis label : operand.labels) out.push_back(ranges[index_of(label)]);
  for (const Window& window : operand.windows) {
    Places& touched = out[window.position];
    std::set<std::int64_t> all(touched.begin(), touched.end());
    const std::int64_t extent = graph.extent(graph.tensor(operand.tensor).axes[window.position]);
    for (const std::int64_t step : ranges[index_of(window.step)]) {
      for (const std::int64_t tap : ranges[index_of(window.tap)]) {
        const std::int64_t place = window.stride * step + window.dilation * tap + window.offset;
        if (place >= 0 && place < extent) all.insert(place);
      }
    }
    touched = Places(std::vector<std::int64_t>(all.begin(), all.end()));
  }
  return out;
}

std::int64_t count(const Box& box) {
  std::int64_t elements = 1;
  for (const Places& places : box) elements *= places.size();
  return elements;
}

bool contains(const Box& outer, const Box& inner) {
  if (count(inner) == 0) return true;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (!outer[i].contains(inner[i])) return false;
  }
  return true;
}

Box common(const Box& a, const Box& b) {
  Box out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::int64_t> both;
    std::copy_if(a[i].begin(), a[i].end(), std::back_inserter(both),
                 [&](std::int64_t place) { return b[i].contains(place); });
    out.emplace_back(std::move(both));
  }
  return out;
}

Piece::Piece(Box of) : box(std::move(of)), values(Eigen::ArrayXd::Zero(count(box))) {}

std::int64_t Piece::offset(std::span<const std::int64_t> place) const {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < box.size(); ++i) {
    const std::int64_t index = box[i].index(place[i]);
    if (index < 0) return -1;
    out = out * box[i].size() + index;
  }
  return out;
}

namespace {

// Calls visit(offset in a, offset in b) for every place of a box; returns how many there are.
template <typename Visit>
std::int64_t for_each_place(const Box& box, const Piece& a, const Piece& b, const Visit& visit) {
  const std::int64_t elements = count(box);
  std::vector<std::size_t> at(box.size(), 0);
  std::vector<std::int64_t> place(box.size());
  for (std::int64_t i = 0; i < elements; ++i) {
    for (std::size_t axis = 0; axis < box.size(); ++axis)
      place[axis] = *(box[axis].begin() + static_cast<std::ptrdiff_t>(at[axis]));
    visit(a.offset(place), b.offset(place));
    for (std::size_t axis = box.size(); axis-- > 0;) {
      if (++at[axis] < static_cast<std::size_t>(box[axis].size())) break;
      at[axis] = 0;
    }
  }
  return elements;
}

}  // namespace

Piece Piece::part(const Box& inner) const {
  Piece out(inner);
  if (!contains(box, inner)) fail_internal("a piece lacks what is taken from it");
  for_each_place(inner, *this, out, [&](std::int64_t from, std::int64_t to) { out.values[to] = values[from]; });
  return out;
}

std::int64_t Piece::add(const Piece& other) {
  return for_each_place(common(box, other.box), other, *this,
                        [&](std::int64_t from, std::int64_t to) { values[to] += other.values[from]; });
}

std::int64_t Piece::write(const Piece& other) {
  return for_each_place(common(box, other.box), other, *this,
                        [&](std::int64_t from, std::int64_t to) { values[to] = other.values[from]; });
}

Access::Access(const OperatorGraph& graph, const Operand& operand, const Piece& piece)
    : graph_(&graph), operand_(&operand), piece_(&piece), strides_(piece.box.size(), 1) {
  if (piece.box.size() != operand.labels.size()) fail_internal("a piece has not the axes of its operand");
  for (std::size_t i = strides_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * piece.box[i].size();
}

std::int64_t Access::offset(const Position& at) const {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    std::int64_t place = at[operand_->labels[i]];
    for (const Window& window : operand_->windows) {
      if (window.position == i)
        place = window.stride * at[window.step] + window.dilation * at[window.tap] + window.offset;
    }
    const std::int64_t index = piece_->box[i].index(place);
    if (index < 0) return -1;
    out += index * strides_[i];
  }
  return out;
}

double Access::read(const Position& at) const {
  const std::int64_t found = offset(at);
  if (found >= 0) return piece_->values[found];
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    for (const Window& window : operand_->windows) {
      const std::int64_t place = window.stride * at[window.step] + window.dilation * at[window.tap] + window.offset;
      const bool over_the_end = place < 0 || place >= graph_->extent(graph_->tensor(operand_->tensor).axes[i]);
      if (window.position == i && over_the_end) return 0;
    }
  }
  fail_internal("a kernel reads " + graph_->tensor(operand_->tensor).name + " where its device has none of it");
}

bool holds(std::span<const Axis> labels, Axis label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::vector<Axis> all_labels(std::span<const Operand> operands) {
  std::vector<Axis> out;
  const auto insert = [&](Axis label) {
    if (!holds(out, label)) out.push_back(label);
  };
  for (const Operand& operand : operands) {
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      bool windowed = false;
      for (const Window& window : operand.windows) {
        if (window.position != i) continue;
        windowed = true;
        insert(window.step);
        insert(window.tap);
      }
      if (!windowed) insert(operand.labels[i]);
    }
  }
  return out;
}

std::vector<Axis> labels_of(const Operand& operand) { return {operand.labels.begin(), operand.labels.end()}; }

std::vector<Axis> without(std::span<const Axis> labels, std::span<const Axis> dropped) {
  std::vector<Axis> out;
  for (const Axis label : labels) {
    if (!holds(dropped, label)) out.push_back(label);
  }
  return out;
}

double noise(std::string_view name, std::uint64_t place) {
  std::uint64_t state = 0x9e3779b97f4a7c15ULL + place;
  const auto mix = [&state] {
    state = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ (state >> 27U)) * 0x94d049bb133111ebULL;
    state ^= state >> 31U;
  };
  mix();
  for (const char letter : name) {
    state += static_cast<unsigned char>(letter);
    mix();
  }
  return static_cast<double>(state >> 11U) * 0x1p-53;
}

std::uint64_t flat(const OperatorGraph& graph, std::span<const Axis> labels, const Position& at) {
  std::uint64_t out = 0;
  for (const Axis label : labels) {
    out = out * static_cast<std::uint64_t>(graph.extent(label)) + static_cast<std::uint64_t>(at[label]);
  }
  return out;
}

}  // namespace mirfak::interpreter
