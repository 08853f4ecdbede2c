// The rows at the edges of parts. An operator whose windows reach beyond a device's part of an axis reads rows of the
// parts before and behind it, or (a gradient) adds to them. All devices exchange as many rows as the one that needs
// most, hop by hop: rows from beyond the next device are passed on by it, and what is added to them is added up on the
// way. Of two axes the second is exchanged with the rows that the first brought; results the other way round.

#include "interpreter/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace mirfak::interpreter {

// A windowed axis that devices divide.
struct Devices::Edge {
  std::size_t position = 0;  // of the operand
  Axis axis{};               // of the graph
  MeshAxisSet over;
  std::int64_t parts = 1;
  std::int64_t own = 0;  // rows of a part, with padding
  std::int64_t before = 0;
  std::int64_t behind = 0;
  bool is_there = false;  // devices hold the rows anyway
  bool exchanged = false;
};

bool Devices::is_of_edges(const BlockStep& step) const {
  if (step.kind != BlockStep::Kind::collective || step.collective != CollectiveKind::shift) return false;
  const Operator& op = graph().op(step.op);
  const auto windowed = [&](const Operand& operand) {
    return operand.tensor == step.tensor && !operand.windows.empty();
  };
  return step.from == step.to && (std::any_of(op.inputs.begin(), op.inputs.end(), windowed) ||
                                  std::any_of(op.outputs.begin(), op.outputs.end(), windowed));
}

// Windows over axes that devices divide, with the rows that they reach: by going through all steps and taps of every
// part, those that are padding among them.
std::vector<Devices::Edge> Devices::edges_of(OperatorId id, const Operand& operand) const {
  const LabelSharding& labels = program_.plan.operators[static_cast<std::size_t>(id)];
  std::vector<Edge> out;
  for (const Window& window : operand.windows) {
    Edge edge;
    edge.position = window.position;
    edge.axis = operand.labels[window.position];
    edge.over = used(labels[index_of(window.step)]);
    edge.parts = program_.mesh.size(edge.over);
    if (edge.parts == 1 || used(labels[index_of(edge.axis)]) != edge.over) continue;
    edge.own = part_of(graph().extent(edge.axis), edge.parts);
    const std::int64_t steps = part_of(graph().extent(window.step), edge.parts);
    for (std::int64_t part = 0; part < edge.parts; ++part) {
      std::set<std::int64_t> touched;
      for (std::int64_t step = part * steps; step < (part + 1) * steps; ++step) {
        for (std::int64_t tap = 0; tap < graph().extent(window.tap); ++tap) {
          touched.insert(window.stride * step + window.dilation * tap + window.offset);
        }
      }
      // Takes all rows from the first to the last that there is.
      const std::int64_t first = std::max<std::int64_t>(*touched.begin(), 0);
      const std::int64_t end = std::min(*touched.rbegin() + 1, edge.own * edge.parts);
      if (first >= end) continue;
      edge.before = std::max(edge.before, part * edge.own - first);
      edge.behind = std::max(edge.behind, end - (part + 1) * edge.own);
    }
    out.push_back(edge);
  }
  return out;
}

bool Devices::passes_rows(OperatorId id, const Operand& operand) const {
  const std::vector<Edge> edges = edges_of(id, operand);
  return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return edge.before + edge.behind > 0; });
}

// A hop is among the devices that divide the axis, and of so many rows: each as wide as the part of the other axes,
// with what their edges have brought.
void Devices::check_hop(const BlockStep& step, const Edge& edge, const std::vector<Edge>& edges,
                        std::int64_t rows) const {
  const Tensor& tensor = graph().tensor(step.tensor);
  double bytes = static_cast<double>(rows) * tensor.density * tensor.bytes_per_element;
  for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
    if (i == edge.position) continue;
    std::int64_t width = part_of(graph().extent(tensor.axes[i]), program_.mesh.size(step.from.axes[i]));
    for (const Edge& other : edges) {
      if (other.position == i && (other.is_there || other.exchanged)) width += other.before + other.behind;
    }
    bytes *= static_cast<double>(width);
  }
  if (used(step.over) != edge.over) fail(step.op, "rows at edges pass among other devices than divide the axis");
  check_bytes(step, bytes);
  ++proof_.collectives;
}

// Returns, for each device, its last rows (or first) of the part that is `behind` parts after its own.
std::vector<Piece> Devices::rows_of_part(const Edge& edge, const std::vector<Piece>& pieces, std::int64_t behind,
                                         std::int64_t rows, bool last) const {
  std::vector<Piece> out;
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const std::int64_t part = layout_.part(edge.axis, edge.over, device) + behind;
    const std::int64_t first = last ? (part + 1) * edge.own - rows : part * edge.own;
    const Piece& piece = pieces[static_cast<std::size_t>(device)];
    Box box = piece.box;
    std::vector<std::int64_t> places;
    std::copy_if(box[edge.position].begin(), box[edge.position].end(), std::back_inserter(places),
                 [&](std::int64_t place) { return place >= first && place < first + rows; });
    box[edge.position] = Places(std::move(places));
    out.push_back(piece.part(box));
  }
  return out;
}

// Returns what each device received of what the others sent to the part after theirs (towards = 1) or before (-1).
std::vector<Piece> Devices::passed_on(const Edge& edge, const std::vector<Piece>& sent, int towards) const {
  std::vector<Piece> out;
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const std::int64_t part = layout_.part(edge.axis, edge.over, device);
    const std::int64_t sender = layout_.device_of_part(edge.axis, edge.over, device, part - towards);
    Box none = sent[static_cast<std::size_t>(device)].box;
    none[edge.position] = Places();
    out.push_back(sender < 0 ? Piece(none) : sent[static_cast<std::size_t>(sender)]);
  }
  return out;
}

namespace {

// Returns a piece with more rows of its tensor.
Piece joined(const Piece& piece, const Piece& rows, std::size_t position) {
  std::vector<std::int64_t> places(piece.box[position].begin(), piece.box[position].end());
  std::copy_if(rows.box[position].begin(), rows.box[position].end(), std::back_inserter(places),
               [&](std::int64_t place) { return !piece.box[position].contains(place); });
  std::sort(places.begin(), places.end());
  Box box = piece.box;
  box[position] = Places(std::move(places));
  Piece out(box);
  out.write(rows);
  out.write(piece);
  return out;
}

}  // namespace

void Devices::run_edges(std::span<const BlockStep> steps) {
  const BlockStep& first = steps.front();
  const Operator& op = graph().op(first.op);
  make_available(first.tensor);
  std::size_t done = 0;
  for (const Operand& input : op.inputs) {
    if (input.tensor == first.tensor && !input.windows.empty()) {
      done += run_edges_of_input(input, steps.subspan(done));
    }
  }
  for (const Operand& output : op.outputs) {
    if (output.tensor == first.tensor && !output.windows.empty()) {
      done += run_edges_of_result(output, steps.subspan(done));
    }
  }
  if (done != steps.size()) fail(first.op, "more rows at edges pass than windows reach");
}

std::size_t Devices::run_edges_of_input(const Operand& operand, std::span<const BlockStep> steps) {
  if (steps.empty()) return 0;
  const OperatorId id = steps.front().op;
  const LabelSharding& labels = program_.plan.operators[static_cast<std::size_t>(id)];
  if (steps.front().from != operand_sharding(operand, labels)) fail(id, "rows at edges are not those that it reads");
  std::vector<Edge> edges = edges_of(id, operand);
  std::vector<Box> boxes = boxes_of(layout_, operand.tensor, steps.front().from);
  const std::vector<Ranges> ranges = ranges_of(labels);
  // A part that is brought from elsewhere comes without the rows around it.
  const Sharding& lies = home(operand.tensor);
  bool is_home = true;
  for (std::size_t i = 0; i < lies.axes.size(); ++i) {
    is_home = is_home && steps.front().from.axes[i].contains(used(lies.axes[i]));
  }
  for (Edge& edge : edges) {
    edge.is_there = is_home && !used(lies.axes[edge.position]).intersects(edge.over);
    for (std::size_t device = 0; edge.is_there && device < boxes.size(); ++device) {
      boxes[device][edge.position] = box_of(graph(), operand, ranges[device])[edge.position];
    }
  }
  const Version* version = memory_.find(operand.tensor, {}, boxes);
  if (version == nullptr) fail(id, "devices do not hold what they pass to their neighbours");
  Version result;
  for (std::size_t device = 0; device < boxes.size(); ++device) {
    result.pieces.push_back(version->pieces[device].part(boxes[device]));
  }
  std::size_t done = 0;
  for (Edge& edge : edges) {
    if (edge.is_there) continue;
    const std::vector<Piece> own = result.pieces;
    for (const int towards : {1, -1}) {
      std::vector<Piece> passing = own;
      std::int64_t left = towards > 0 ? edge.before : edge.behind;
      for (std::int64_t hop = 0; left > 0; ++hop, left -= edge.own) {
        const std::int64_t rows = std::min(left, edge.own);
        if (done == steps.size()) fail(id, "fewer rows at edges pass than windows reach");
        check_hop(steps[done++], edge, edges, rows);
        passing = passed_on(edge, rows_of_part(edge, passing, -towards * hop, rows, towards > 0), towards);
        for (std::size_t device = 0; device < passing.size(); ++device) {
          result.pieces[device] = joined(result.pieces[device], passing[device], edge.position);
        }
      }
    }
    edge.exchanged = true;
  }
  result.for_operator = id;
  memory_.put(operand.tensor, std::move(result));
  return done;
}

// The last windows first. What is for the farthest device starts first, and takes with it what those on its way have
// for that device.
std::size_t Devices::run_edges_of_result(const Operand& operand, std::span<const BlockStep> steps) {
  if (steps.empty()) return 0;
  const OperatorId id = steps.front().op;
  Version* version = memory_.find_open(operand.tensor);
  if (version == nullptr) fail(id, "there are no rows of neighbours in what it made");
  std::vector<Edge> edges = edges_of(id, operand);
  for (Edge& edge : edges) edge.exchanged = true;
  std::size_t done = 0;
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
    edge->exchanged = false;
    std::vector<Piece> sums = rows_of_part(*edge, version->pieces, 0, edge->own, false);
    for (const int towards : {-1, 1}) {
      const std::int64_t all = towards < 0 ? edge->before : edge->behind;
      std::vector<Piece> passing;
      for (std::int64_t distance = part_of(all, edge->own); distance > 0; --distance) {
        const std::int64_t rows = std::min(edge->own, all - (distance - 1) * edge->own);
        if (done == steps.size()) fail(id, "fewer rows at edges pass than windows reach");
        check_hop(steps[done++], *edge, edges, rows);
        std::vector<Piece> sent = rows_of_part(*edge, version->pieces, towards * distance, rows, towards < 0);
        for (std::size_t device = 0; device < passing.size(); ++device) {
          if (passing[device].values.size() > 0) {
            sent[device] = joined(sent[device], Piece(passing[device].box), edge->position);
            sent[device].add(passing[device]);
          }
        }
        passing = passed_on(*edge, sent, towards);
      }
      for (std::size_t device = 0; device < passing.size(); ++device) sums[device].add(passing[device]);
    }
    version->pieces = std::move(sums);
  }
  version->open = false;
  return done;
}

}  // namespace mirfak::interpreter
