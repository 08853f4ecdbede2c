#include "sharding/partition.hpp"

#include "sharding/halo.hpp"
#include "sharding/propagation.hpp"
#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// Indices of steps of the same list that another step waits for.
using Steps = std::vector<int>;

bool uses(const Operand& operand, Axis label) { return operand.labels.contains(label); }

// True for a weight gradient that reads the operand that the forward product gathered.
bool keeps_gathered(const Operator& op) { return op.keeps_gathered && op.phase == Phase::weight_gradient; }

// Writes the steps of one list (forward, recompute or backward) of a block.
class StepWriter {
 public:
  StepWriter(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan,
             std::span<const AxisRule> rules)
      : graph_(graph), mesh_(mesh), plan_(plan), rules_(rules) {}

  // Adds gradients of one tensor that are partial sums over the same mesh axes before they are reduced.
  void add_before_reducing() {
    std::map<TensorId, int> readers;
    for (const Operator& op : graph_.operators) {
      for (const Operand& input : op.inputs) ++readers[input.tensor];
    }
    for (const Operator& op : graph_.operators) {
      if (!adds_gradients(op)) continue;
      for (const Operand& input : op.inputs) {
        if (readers[input.tensor] == 1) added_.insert(input.tensor);
      }
    }
  }

  // Delays sums over replicas to the end of the iteration, together with the gradients of parameters made from them.
  void sum_over_replicas_later() {
    if (!rules_.empty()) find_gradients_for_parameters();
  }

  void write(OperatorId id) {
    const Operator& op = graph_.op(id);
    if (adds_gradients(op) && write_sum(id)) return;
    const LabelSharding& labels = labels_of(id);
    if (const auto loop = loop_of(op, labels)) {
      return loop->gathers ? write_gathering(id, labels, *loop) : write_scattering(id, labels, *loop);
    }
    Steps inputs;
    for (const Operand& input : op.inputs) {
      for (const int step : bring(id, input, labels)) add_once(inputs, step);
      for (const int step : exchange_halos(id, input, labels)) add_once(inputs, step);
    }
    for (const Operand& parameter : unlisted_parameters(graph_, op)) {
      for (const int step : bring(id, parameter, labels)) add_once(inputs, step);
    }
    if (op.phase == Phase::activation_gradient && op.kind == OperatorKind::einsum) bring_for_weight_gradient(id);
    if (op.kind == OperatorKind::view || op.part_of_kernel) {
      // The result is ready when the first operand is.
      return settle_all(id, labels, {}, ready(op.inputs.front().tensor));
    }
    const MeshAxisSet ring = around(op, labels);
    if (!ring.empty()) return write_ring(id, labels, ring, inputs);
    settle_all(id, labels, ring, {add_kernel(id, labels, inputs)});
  }

  std::vector<BlockStep> take() { return std::move(steps_); }
  // Additional bytes of tensors that are kept gathered, without `recomputed` tensors.
  double gathered_bytes(const std::set<TensorId>& recomputed) const {
    double bytes = 0;
    for (const auto& [tensor, gathered] : gathered_) {
      if (recomputed.contains(tensor)) continue;
      bytes += local_bytes(graph_, tensor, gathered, mesh_) - local_bytes(graph_, tensor, lies(tensor), mesh_);
    }
    return bytes;
  }
  // Gradients that the pass leaves, by parameter.
  const std::map<TensorId, ParameterShard>& gradients() const { return gradients_; }

 private:
  static void add_once(Steps& list, int step) {
    if (std::find(list.begin(), list.end(), step) == list.end()) list.push_back(step);
  }

  const Sharding& lies(TensorId tensor) const { return plan_.tensors[static_cast<std::size_t>(tensor)]; }
  const Sharding& lies(const Operand& operand) const { return lies(operand.tensor); }

  // Steps after which a tensor lies as it should; empty: from the start.
  Steps ready(TensorId tensor) const {
    const auto found = ready_.find(tensor);
    return found == ready_.end() ? Steps() : found->second;
  }

  const LabelSharding& labels_of(OperatorId op) const { return plan_.operators[static_cast<std::size_t>(op)]; }

  // The mesh axes that divide queries and keys at once: keys pass round these axes.
  static MeshAxisSet around(const Operator& op, const LabelSharding& labels) {
    MeshAxisSet out;
    if (op.kind != OperatorKind::attention) return out;
    for (const MeshAxis axis : labels[index_of(op.over[0])]) {
      if (labels[index_of(op.over[1])].contains(axis)) out.insert(axis);
    }
    return out;
  }

  int add_kernel(OperatorId id, const LabelSharding& labels, Steps after) {
    BlockStep step;
    step.kind = BlockStep::Kind::kernel;
    step.op = id;
    step.phase = graph_.op(id).phase;
    step.local.reserve(graph_.axes.size());
    for (std::size_t axis = 0; axis < graph_.axes.size(); ++axis) {
      step.local.push_back(part_of(graph_.axes[axis].extent, mesh_.size(labels[axis])));
    }
    step.labels = labels;
    step.after = std::move(after);
    steps_.push_back(std::move(step));
    return static_cast<int>(steps_.size()) - 1;
  }

  int add_collective(OperatorId id, TensorId tensor, const ReshardStep& collective, Steps after) {
    BlockStep step = collective_step(collective, id, graph_.op(id).phase, tensor);
    step.after = std::move(after);
    steps_.push_back(std::move(step));
    return static_cast<int>(steps_.size()) - 1;
  }

  ReshardStep shift_of(const Operand& operand, MeshAxis over, double bytes) const {
    return {CollectiveKind::shift, MeshAxisSet(over), bytes, lies(operand), lies(operand)};
  }

  // Writes attention piece by piece round a ring. In parallel with each kernel, the keys and values that it reads go on
  // to the next device, and (backward) so do the gradients that the kernel before added to theirs: gradients arrive
  // home one shift after the last operands left.
  void write_ring(OperatorId id, const LabelSharding& labels, MeshAxisSet ring, const Steps& inputs) {
    const Operator& op = graph_.op(id);
    const auto travelling = [&](const std::vector<Operand>& operands) {
      double bytes = 0;
      for (const Operand& operand : operands) {
        if (uses(operand, op.over[1])) bytes += local_bytes(graph_, operand.tensor, lies(operand), mesh_);
      }
      return bytes;
    };
    const double read = travelling(op.inputs);
    const double added = travelling(op.outputs);
    const MeshAxis over = *ring.begin();
    const auto key = std::find_if(op.inputs.begin(), op.inputs.end(),
                                  [&](const Operand& operand) { return uses(operand, op.over[1]); });
    const int pieces = mesh_.size(over);
    Steps arrived = inputs;  // steps that the next kernel and the next shift wait for
    int kernel = -1;
    for (int piece = 0; piece < pieces; ++piece) {
      const double bytes = (piece + 1 < pieces ? read : 0) + (piece > 0 ? added : 0);
      Steps next = arrived;
      if (bytes > 0) {
        Steps after = arrived;
        if (piece > 0 && added > 0) add_once(after, kernel);
        next = {add_collective(id, key->tensor, shift_of(*key, over, bytes), std::move(after))};
      }
      kernel = add_kernel(id, labels, arrived);
      steps_.back().piece = piece;
      steps_.back().pieces = pieces;
      arrived = std::move(next);
    }
    add_once(arrived, kernel);
    settle_all(id, labels, ring, added > 0 ? arrived : Steps{kernel});
  }

  // A product that runs in pieces: rows of `operand` come from, or go to, the devices of a mesh axis.
  struct ProductLoop {
    const Operand* operand = nullptr;
    bool gathers = false;  // `operand` is an input, else the result
    Axis rows{};
    MeshAxis mesh{};
  };

  std::optional<ProductLoop> loop_of(const Operator& op, const LabelSharding& labels) const {
    if (!op.linear || op.phase == Phase::weight_gradient) return std::nullopt;
    for (const AxisRule& rule : rules_) {
      const bool gathered_only = rule.on == AxisRule::On::gathered_products;
      if ((rule.on != AxisRule::On::products && !gathered_only) || mesh_.size(rule.mesh) == 1) continue;
      const auto rows_of = [&](const Operand& operand) -> std::optional<Axis> {
        for (std::size_t i = 0; i < operand.labels.size(); ++i) {
          const Axis label = operand.labels[i];
          if (graph_.divided_by(label) != rule.axes || labels[index_of(label)].contains(rule.mesh)) continue;
          if (lies(operand).axes[i].contains(rule.mesh)) return label;
        }
        return std::nullopt;
      };
      for (const Operand& input : op.inputs) {
        const std::optional<Axis> rows = rows_of(input);
        if (!rows || copies_.contains(std::pair(input.tensor, operand_sharding(input, labels).axes))) continue;
        return ProductLoop{&input, true, *rows, rule.mesh};
      }
      // In backward, the whole sum travels at once, overlapped with the weight gradient if there is one.
      if (op.phase != Phase::forward || gathered_only) continue;
      if (const auto rows = rows_of(op.outputs.front()))
        return ProductLoop{&op.outputs.front(), false, *rows, rule.mesh};
    }
    return std::nullopt;
  }

  int add_piece(OperatorId id, LabelSharding labels, const ProductLoop& loop, int piece, Steps after) {
    labels[index_of(loop.rows)].insert(loop.mesh);
    const int kernel = add_kernel(id, labels, std::move(after));
    steps_.back().piece = piece;
    steps_.back().pieces = mesh_.size(loop.mesh);
    return kernel;
  }

  // Writes a product with a gathered input piece by piece: the first piece is the device's own.
  void write_gathering(OperatorId id, const LabelSharding& labels, const ProductLoop& loop) {
    const Operand& rows = *loop.operand;
    const ReshardStep shift = shift_of(rows, loop.mesh, local_bytes(graph_, rows.tensor, lies(rows), mesh_));
    Steps arrived = ready(rows.tensor);
    Steps inputs = arrived;
    for (const Operand& input : graph_.op(id).inputs) {
      if (&input == &rows) continue;
      for (const int step : bring(id, input, labels)) add_once(inputs, step);
    }
    int kernel = -1;
    for (int piece = 0; piece < mesh_.size(loop.mesh); ++piece) {
      if (piece > 0) inputs = arrived;
      if (piece + 1 < mesh_.size(loop.mesh)) arrived = {add_collective(id, rows.tensor, shift, arrived)};
      kernel = add_piece(id, labels, loop, piece, inputs);
    }
    copies_[std::pair(rows.tensor, operand_sharding(rows, labels).axes)] = arrived;
    settle_all(id, labels, {}, {kernel});
  }

  // Writes a product whose sum is scattered: rows of each piece go on towards their device while the next piece is
  // computed.
  void write_scattering(OperatorId id, const LabelSharding& labels, const ProductLoop& loop) {
    const Operand& rows = *loop.operand;
    const ReshardStep shift = shift_of(rows, loop.mesh, local_bytes(graph_, rows.tensor, lies(rows), mesh_));
    Steps inputs;
    for (const Operand& input : graph_.op(id).inputs) {
      for (const int step : bring(id, input, labels)) add_once(inputs, step);
    }
    Steps made;
    for (int piece = 0; piece < mesh_.size(loop.mesh); ++piece) {
      const int kernel = add_piece(id, labels, loop, piece, piece == 0 ? inputs : Steps());
      add_once(made, kernel);
      if (piece + 1 < mesh_.size(loop.mesh)) made = {add_collective(id, rows.tensor, shift, made)};
    }
    ready_[rows.tensor] = made;
  }

  // Finds gradients that only operators read that make gradients of parameters from one gradient: such operators are
  // linear in the gradient.
  void find_gradients_for_parameters() {
    const auto is_gradient = [&](const Operand& of) { return graph_.tensor(of.tensor).role == TensorRole::gradient; };
    const auto for_parameters = [&](const Operand& of) {
      return graph_.tensor(of.tensor).role == TensorRole::parameter_gradient || for_parameters_.contains(of.tensor);
    };
    std::set<TensorId> read_otherwise;
    std::for_each(graph_.operators.rbegin(), graph_.operators.rend(), [&](const Operator& op) {
      for (const Operand& output : op.outputs) {
        if (is_gradient(output) && !read_otherwise.contains(output.tensor)) for_parameters_.insert(output.tensor);
      }
      const bool linear = std::count_if(op.inputs.begin(), op.inputs.end(), is_gradient) == 1 &&
                          std::all_of(op.outputs.begin(), op.outputs.end(), for_parameters);
      for (const Operand& input : op.inputs) {
        if (!linear) read_otherwise.insert(input.tensor);
      }
    });
    for (const TensorId id : graph_.outputs) for_parameters_.erase(id);
    for (const TensorId id : graph_.inputs) for_parameters_.erase(id);
  }

  // Removes from a result's partial sums the sums over the batch, and over the tokens of a sequence, that may wait with
  // the gradients of parameters.
  void put_off_sums(const Operator& op, const LabelSharding& labels, TensorId result, Sharding& made) {
    if (!for_parameters_.contains(result)) return;
    MeshAxisSet late = sums_put_off(op);
    for (const AxisRule& rule : rules_) {
      if (rule.on != AxisRule::On::inputs || !made.partial.contains(rule.mesh)) continue;
      bool over_inputs = true;
      for (std::size_t label = 0; label < labels.size(); ++label) {
        const bool divides = labels[label].contains(rule.mesh);
        over_inputs = over_inputs && (!divides || graph_.divided_by(static_cast<Axis>(label)) == rule.axes);
      }
      if (!over_inputs) continue;
      late.insert(rule.mesh);
      made.partial.erase(rule.mesh);
    }
    if (!late.empty()) put_off_.insert_or_assign(result, late);
  }

  MeshAxisSet sums_put_off(const Operator& op) const {
    MeshAxisSet out;
    for (const Operand& input : op.inputs) {
      if (const auto late = put_off_.find(input.tensor); late != put_off_.end()) out.insert(late->second);
    }
    return out;
  }

  static bool adds_gradients(const Operator& op) {
    return op.phase == Phase::activation_gradient && op.kind == OperatorKind::elementwise && op.function == "add";
  }

  // Adds partial sums as they lie, if all lie alike; else reduces the partial sums that were left for this addition.
  bool write_sum(OperatorId id) {
    const Operator& op = graph_.op(id);
    const auto partial_of = [&](const Operand& input) {
      const auto found = unreduced_.find(input.tensor);
      return found == unreduced_.end() ? nullptr : &found->second;
    };
    const Sharding* first = partial_of(op.inputs.front());
    const bool alike = first != nullptr && std::all_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
                         const Sharding* partial = partial_of(input);
                         return partial != nullptr && *partial == *first;
                       });
    if (!alike) {
      for (const Operand& input : op.inputs) reduce_left(id, input.tensor);
      return false;
    }
    const Sharding made = *first;
    LabelSharding labels;
    labels.resize(graph_.axes.size());
    Steps inputs;
    for (const Operand& input : op.inputs) {
      for (const int step : ready(input.tensor)) add_once(inputs, step);
    }
    const Operand& sum = op.outputs.front();
    for (std::size_t i = 0; i < sum.labels.size(); ++i) labels[index_of(sum.labels[i])] = made.axes[i];
    bring_home(id, sum.tensor, made, {add_kernel(id, labels, inputs)});
    return true;
  }

  void reduce_left(OperatorId id, TensorId tensor) {
    const auto left = unreduced_.find(tensor);
    if (left == unreduced_.end()) return;
    ready_[tensor] = collectives(id, tensor, left->second, lies(tensor), ready(tensor));
    unreduced_.erase(left);
  }

  // Brings a tensor from the sharding in which it was made to its own sharding, or leaves it for the sum that adds it
  // first.
  void bring_home(OperatorId id, TensorId tensor, const Sharding& made, const Steps& made_by) {
    const Sharding& wanted = lies(tensor);
    if (!made.partial.empty() && added_.contains(tensor)) {
      unreduced_.insert_or_assign(tensor, made);
      ready_[tensor] = made_by;
      return;
    }
    ready_[tensor] = made == wanted ? made_by : collectives(id, tensor, made, wanted, made_by);
  }

  // Reshards an input to the sharding that the operator needs; returns the steps after which it is ready.
  Steps bring(OperatorId id, const Operand& input, const LabelSharding& labels) {
    const Sharding wanted = operand_sharding(input, labels);
    Steps after = ready(input.tensor);
    if (lies(input) == wanted) return after;
    // The buffer of the iteration lies as the gradient that is added to it.
    if (graph_.tensor(input.tensor).role == TensorRole::parameter_gradient) return after;
    if (kept_as_used(graph_.op(id), input)) {
      if (keeps_gathered(graph_.op(id))) gathered_.insert_or_assign(input.tensor, wanted);
      return after;
    }
    const auto key = std::pair(input.tensor, wanted.axes);
    if (const auto copy = copies_.find(key); copy != copies_.end()) return copy->second;
    return copies_[key] = collectives(id, input.tensor, lies(input), wanted, std::move(after));
  }

  // Brings forward's tensors that the next product, a weight gradient, reads, so that the transfer overlaps with this
  // product (arXiv 2205.05198, section 4.2.2).
  void bring_for_weight_gradient(OperatorId id) {
    const auto end = graph_.operators.end();
    const auto next = std::find_if(graph_.operators.begin() + id + 1, end,
                                   [](const Operator& op) { return op.kind == OperatorKind::einsum; });
    if (next == end || next->phase != Phase::weight_gradient) return;
    const auto weight_gradient = static_cast<OperatorId>(next - graph_.operators.begin());
    for (const Operand& input : next->inputs) {
      const bool of_forward = graph_.tensor(input.tensor).role == TensorRole::activation;
      if (of_forward && ready(input.tensor).empty()) {
        bring(weight_gradient, input, labels_of(weight_gradient));
      }
    }
  }

  // True if a tensor is kept for backward in the sharding in which the forward operator used it: tensors that forward's
  // attention read or wrote with other labels divided (they are no larger), and rows that a product gathered and keeps
  // whole.
  bool kept_as_used(const Operator& op, const Operand& input) const {
    const TensorRole role = graph_.tensor(input.tensor).role;
    if (keeps_gathered(op) && role == TensorRole::activation) return true;
    if (op.kind != OperatorKind::attention || op.phase == Phase::forward || role != TensorRole::activation) {
      return false;
    }
    return std::any_of(rules_.begin(), rules_.end(), [&](const AxisRule& rule) {
      return rule.on == AxisRule::On::attention && mesh_.size(rule.mesh) > 1;
    });
  }

  void settle_all(OperatorId id, const LabelSharding& labels, MeshAxisSet ring, const Steps& made_by) {
    const Operator& op = graph_.op(id);
    if (op.kind == OperatorKind::cross_entropy && op.phase == Phase::forward) return settle_loss(id, labels, made_by);
    for (const Operand& output : op.outputs) settle(id, output, labels, ring, made_by);
  }

  // Writes the collectives of loss and softmax: they are made once all sums over the classes are there, and are brought
  // to their own shardings then.
  void settle_loss(OperatorId id, const LabelSharding& labels, const Steps& made_by) {
    const Operator& op = graph_.op(id);
    std::vector<Sharding> whole;
    for (const Operand& output : op.outputs) {
      const Sharding made = result_sharding(op, output, labels);
      whole.push_back(made);
      whole.back().partial = {};
      ready_[output.tensor] = collectives(id, output.tensor, made, whole.back(), made_by);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId tensor = op.outputs[i].tensor;
      ready_[tensor] = collectives(id, tensor, whole[i], lies(tensor), ready_[tensor]);
    }
  }

  // Brings an output from the sharding in which the operator leaves it to its own sharding. Round a ring the results of
  // every device are whole.
  void settle(OperatorId id, const Operand& output, const LabelSharding& labels, MeshAxisSet ring,
              const Steps& made_by) {
    const Operator& op = graph_.op(id);
    Sharding made = result_sharding(op, output, labels);
    made.partial.erase(ring);
    if (graph_.tensor(output.tensor).role == TensorRole::parameter_gradient) {
      made.partial.insert(sums_put_off(op));
      leave_gradient(id, output.tensor, made);
      ready_[output.tensor] = made_by;
      return;
    }
    put_off_sums(op, labels, output.tensor, made);
    const Steps added = exchange_halos(id, output, labels, made_by);
    bring_home(id, output.tensor, made, added.empty() ? made_by : added);
  }

  // Records a partial gradient of a parameter, which waits for the end of the iteration. A kernel that adds a gradient
  // to the buffer of the iteration replaces the entry of that buffer; gradients with the same sharding are added to the
  // same buffer.
  void leave_gradient(OperatorId id, TensorId gradient, Sharding made) {
    const TensorId parameter = graph_.tensor(gradient).of;
    ParameterShard& shard = gradients_[parameter];
    std::vector<GradientLeft>& left = shard.gradients;
    for (const Operand& input : graph_.op(id).inputs) {
      const auto added = std::find_if(left.begin(), left.end(),
                                      [&](const GradientLeft& other) { return other.tensor == input.tensor; });
      if (added == left.end()) continue;
      made.partial.insert(added->made.partial);
      left.erase(added);
    }
    shard.gradient_partial.insert(made.partial);
    // If each device has the gradient of other positions than the rest of the parameter, its zeros are parts of sums.
    for (std::size_t i = 0; i < made.axes.size() && !plan_.by_compiler; ++i) {
      MeshAxisSet further = made.axes[i];
      further.erase(lies(parameter).axes[i]);
      shard.gradient_partial.insert(further);
    }
    std::erase_if(left, [&](const GradientLeft& other) { return other.made == made; });
    left.push_back({gradient, id, made});
  }

  // A windowed axis that devices divide, and the rows that they exchange.
  struct Edge {
    MeshAxisSet over;
    std::int64_t own = 0;  // rows of one device
    Halo halo;
    bool there = false;  // devices already hold the rows beyond their part
    double grown() const { return static_cast<double>(own + halo.before + halo.behind) / static_cast<double>(own); }
  };

  std::vector<Edge> edges_of(const Operand& operand, const LabelSharding& labels, bool made) const {
    std::vector<Edge> out;
    const bool sliced = !made && is_slice(operand_sharding(operand, labels), lies(operand));
    for (const Window& window : operand.windows) {
      const Axis axis = operand.labels[window.position];
      Edge edge;
      edge.over = labels[index_of(window.step)];
      const std::int64_t parts = mesh_.size(edge.over);
      if (parts == 1 || labels[index_of(axis)] != edge.over) continue;
      edge.own = part_of(graph_.extent(axis), parts);
      edge.halo = halo_of(graph_.extent(axis), graph_.extent(window.step), graph_.extent(window.tap), window, parts);
      edge.there = sliced && !lies(operand).axes[window.position].intersects(edge.over);
      out.push_back(edge);
    }
    return out;
  }

  // True if devices can cut `part` out of `of` without communication.
  bool is_slice(const Sharding& part, const Sharding& of) const {
    for (std::size_t i = 0; i < part.axes.size(); ++i) {
      for (const MeshAxis axis : of.axes[i]) {
        if (mesh_.size(axis) > 1 && !part.axes[i].contains(axis)) return false;
      }
    }
    return true;
  }

  // Writes shifts of the rows of windowed axes that devices lack of an input, or that they added to a result for
  // others: towards higher positions, then towards lower ones, with several hops where rows come from beyond the next
  // device. With two windowed axes, the second is exchanged together with the rows that the first brought. A result
  // goes the same way back: the last axis first, and rows for the farthest device start first.
  Steps exchange_halos(OperatorId id, const Operand& operand, const LabelSharding& labels, const Steps& made_by = {}) {
    if (operand.windows.empty()) return {};
    const bool made = !made_by.empty();
    std::vector<Edge> edges = edges_of(operand, labels, made);
    const Sharding divided = operand_sharding(operand, labels);
    double bytes = local_bytes(graph_, operand.tensor, divided, mesh_);
    for (const Edge& edge : edges) bytes *= made || edge.there ? edge.grown() : 1;
    if (made) std::reverse(edges.begin(), edges.end());
    Steps all;
    for (const Edge& edge : edges) {
      if (edge.there) continue;
      if (made) bytes /= edge.grown();
      const Steps after = !all.empty() ? all : made ? made_by : ready(operand.tensor);
      Steps of_axis;
      for (const std::int64_t rows : {edge.halo.before, edge.halo.behind}) {
        Steps hop = after;
        for (const std::int64_t passed : hops(rows, edge.own, made)) {
          const double size = bytes / static_cast<double>(edge.own) * static_cast<double>(passed);
          hop = {add_collective(id, operand.tensor, {CollectiveKind::shift, edge.over, size, divided, divided}, hop)};
        }
        if (rows > 0) add_once(of_axis, hop.front());
      }
      if (!of_axis.empty()) all = of_axis;
      if (!made) bytes *= edge.grown();
    }
    return all;
  }

  // Number of rows in each shift of rows that come from beyond a device: all rows of a device, except in the last
  // shift.
  static std::vector<std::int64_t> hops(std::int64_t rows, std::int64_t own, bool backwards) {
    std::vector<std::int64_t> out;
    for (std::int64_t left = rows; left > 0; left -= own) out.push_back(std::min(left, own));
    if (backwards) std::reverse(out.begin(), out.end());
    return out;
  }

  Steps collectives(OperatorId id, TensorId tensor, const Sharding& from, const Sharding& to, Steps after) {
    const ReshardOrder order = plan_.by_compiler ? ReshardOrder::cheapest : ReshardOrder::of_mesh;
    for (const ReshardStep& step : reshard(graph_, tensor, from, to, mesh_, order)) {
      after = {add_collective(id, tensor, step, std::move(after))};
    }
    return after;
  }

  const OperatorGraph& graph_;
  const DeviceMesh& mesh_;
  const ShardingPlan& plan_;
  std::span<const AxisRule> rules_;
  std::vector<BlockStep> steps_;
  std::map<TensorId, Steps> ready_;
  std::map<std::pair<TensorId, InlineList<MeshAxisSet, kMaxRank>>, Steps> copies_;  // resharded copies and their steps
  std::map<TensorId, ParameterShard> gradients_;
  std::map<TensorId, Sharding> gathered_;    // tensors that were kept gathered, and their shardings
  std::set<TensorId> for_parameters_;        // gradients that only gradients of parameters are made of
  std::map<TensorId, MeshAxisSet> put_off_;  // mesh axes over which `for_parameters_` stay partial sums
  std::set<TensorId> added_;                 // gradients that only a sum reads
  std::map<TensorId, Sharding> unreduced_;   // gradients in `added_` that wait for the sum as partial sums
};

double total_bytes(const PartitionedBlock& block, const DeviceMesh& mesh, const std::set<TensorId>& tensors) {
  double bytes = 0;
  for (const TensorId id : tensors) {
    bytes += bytes_at_once(block.graph, id, block.shardings[static_cast<std::size_t>(id)], mesh);
  }
  return bytes;
}

void add_parameters(PartitionedBlock& block, const DeviceMesh& mesh,
                    const std::map<TensorId, ParameterShard>& gradients) {
  for (std::size_t id = 0; id < block.graph.tensors.size(); ++id) {
    const TensorRole role = block.graph.tensors[id].role;
    if (role != TensorRole::parameter && role != TensorRole::parameter_copy) continue;
    if (block.graph.tensors[id].passing) continue;
    const auto tensor = static_cast<TensorId>(id);
    const double bytes = local_bytes(block.graph, tensor, block.shardings[id], mesh);
    (role == TensorRole::parameter ? block.parameter_bytes : block.parameter_copy_bytes) += bytes;
    if (role == TensorRole::parameter_copy) continue;
    const auto found = gradients.find(tensor);
    ParameterShard shard = found == gradients.end() ? ParameterShard() : found->second;
    shard.tensor = tensor;
    if (block.graph.tensors[id].beside_frozen) block.parameter_bytes += bytes;
    shard.elements = bytes / block.graph.tensors[id].bytes_per_element;
    block.parameters.push_back(shard);
  }
}

}  // namespace

BlockStep collective_step(const ReshardStep& collective, OperatorId op, Phase phase, TensorId tensor) {
  BlockStep step;
  step.kind = BlockStep::Kind::collective;
  step.op = op;
  step.phase = phase;
  step.collective = collective.kind;
  step.over = collective.over;
  step.bytes = collective.bytes;
  step.tensor = tensor;
  step.from = collective.from;
  step.to = collective.to;
  return step;
}

PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, std::span<const AxisRule> rules,
                           std::span<const TensorId> dropped, GradientSums sums) {
  ShardingPlan plan = propagate(graph, mesh, rules);
  return partition(std::move(graph), mesh, plan, rules, dropped, sums);
}

PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, const ShardingPlan& plan,
                           std::span<const AxisRule> rules, std::span<const TensorId> dropped, GradientSums sums) {
  PartitionedBlock block;
  block.graph = std::move(graph);
  StepWriter forward(block.graph, mesh, plan, rules);
  StepWriter backward(block.graph, mesh, plan, rules);
  StepWriter update(block.graph, mesh, plan, rules);
  if (sums == GradientSums::before_reducing) backward.add_before_reducing();
  backward.sum_over_replicas_later();
  for (std::size_t id = 0; id < block.graph.operators.size(); ++id) {
    const Phase phase = block.graph.operators[id].phase;
    StepWriter& writer = phase == Phase::forward ? forward : phase == Phase::update ? update : backward;
    writer.write(static_cast<OperatorId>(id));
  }
  StepWriter recompute(block.graph, mesh, plan, rules);
  const ActivationPlan activations = plan_activations(block.graph, dropped);
  std::set<TensorId> recomputed;
  for (const OperatorId id : activations.recomputed) {
    recompute.write(id);
    if (block.graph.op(id).kind == OperatorKind::view) continue;
    for (const Operand& output : block.graph.op(id).outputs) recomputed.insert(output.tensor);
  }
  block.forward = forward.take();
  block.recompute = recompute.take();
  block.backward = backward.take();
  block.update = update.take();
  block.shardings = plan.tensors;
  add_parameters(block, mesh, backward.gradients());
  block.kept = activations.kept;
  block.kept_bytes = total_bytes(block, mesh, {activations.kept.begin(), activations.kept.end()}) +
                     backward.gathered_bytes(recomputed);
  block.recomputed_bytes = total_bytes(block, mesh, recomputed);
  const std::vector<TensorId>& streams = block.graph.outputs.empty() ? block.graph.inputs : block.graph.outputs;
  block.residual_bytes = total_bytes(block, mesh, {streams.begin(), streams.end()});
  return block;
}

}  // namespace mirfak
