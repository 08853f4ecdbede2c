// One list of steps after the other: forward, recomputation, backward. Kernels of views and those that run as parts of
// another kernel are no steps: they run when something asks for their results.

#include "interpreter/divided.hpp"

#include "base/error.hpp"
#include "interpreter/devices.hpp"
#include "sharding/weight_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak::interpreter {

namespace {

constexpr double kTolerance = 1e-9;

class Prover {
 public:
  Prover(const DividedProgram& program, const Values& whole)
      : program_(program),
        graph_(program.block.graph),
        whole_(whole),
        layout_(graph_, program.mesh, program.plan),
        devices_(program, layout_, proof_) {}

  Proof run() {
    enter();
    devices_.run(program_.block.forward, operators_of_forward());
    compare_all("forward");
    must_lie_home(operators_of_forward());
    const std::vector<OperatorId> recomputed = plan_activations(graph_, program_.dropped).recomputed;
    for (const TensorId id : program_.block.kept) must_lie_home(id);
    devices_.forget(program_.block.kept);
    devices_.run(program_.block.recompute, {recomputed.begin(), recomputed.end()});
    compare_all("recomputation");
    must_lie_home({recomputed.begin(), recomputed.end()});
    devices_.forget_copies();
    devices_.run(program_.block.backward, operators_of_backward());
    compare_all("backward");
    must_lie_home(operators_of_backward());
    check_kept(recomputed);
    for (std::size_t i = 0; i < graph_.input_gradients.size(); ++i) {
      if (graph_.input_gradients[i] >= 0) must_lie_home(graph_.input_gradients[i]);
    }
    if (program_.updates) check_update();
    for (const ParameterShard& shard : program_.block.parameters) {
      if (!program_.updates) check_parameter(shard);
    }
    return proof_;
  }

 private:
  static MeshAxisSet used(MeshAxisSet axes, const DeviceMesh& mesh) {
    MeshAxisSet out;
    for (const MeshAxis axis : axes) {
      if (mesh.size(axis) > 1) out.insert(axis);
    }
    return out;
  }

  const Sharding& home(TensorId id) const { return program_.block.shardings[static_cast<std::size_t>(id)]; }

  void enter() {
    std::vector<TensorId> entering = entering_gradients(graph_);
    for (std::size_t id = 0; id < graph_.tensors.size(); ++id) {
      const TensorRole role = graph_.tensors[id].role;
      const bool enters = role == TensorRole::input || role == TensorRole::parameter;
      if (enters || role == TensorRole::parameter_gradient) entering.push_back(static_cast<TensorId>(id));
    }
    for (const TensorId id : entering) {
      Version version;
      const bool buffer = graph_.tensor(id).role == TensorRole::parameter_gradient;
      for (const Box& box : boxes_of(layout_, id, home(id))) {
        // The buffer of an iteration lies as what is added to it.
        const bool anywhere = buffer && program_.updates;
        version.pieces.push_back(anywhere ? Piece(whole_box(graph_, id))
                                 : buffer ? Piece(box)
                                          : whole_[static_cast<std::size_t>(id)]->part(box));
      }
      devices_.memory().put(id, std::move(version));
    }
    for (const TensorId output : graph_.outputs) must_lie_home_.push_back(output);
  }

  std::set<OperatorId> operators_of_forward() const {
    std::set<OperatorId> out;
    for (std::size_t id = 0; id < graph_.operators.size(); ++id) {
      if (graph_.operators[id].phase == Phase::forward) out.insert(static_cast<OperatorId>(id));
    }
    return out;
  }
  std::set<OperatorId> operators_of_backward() const {
    std::set<OperatorId> out;
    for (std::size_t id = 0; id < graph_.operators.size(); ++id) {
      const Phase phase = graph_.operators[id].phase;
      if (phase != Phase::forward && phase != Phase::update) out.insert(static_cast<OperatorId>(id));
    }
    return out;
  }

  void compare(const std::string& when, TensorId id, std::int64_t device, const Piece& piece) const {
    must_equal(when, id, device, piece, *whole_[static_cast<std::size_t>(id)]);
  }

  void must_equal(const std::string& when, TensorId id, std::int64_t device, const Piece& piece,
                  const Piece& all) const {
    const Piece expected = all.part(piece.box);
    if (expected.values.size() == 0) return;
    const double scale = 1 + all.values.abs().maxCoeff();
    const double difference = (expected.values - piece.values).abs().maxCoeff();
    if (difference <= kTolerance * scale) return;
    fail_internal(fmt::format("{}: {} on device {} differs from the undivided run by {:g}", when,
                              graph_.tensor(id).name, device, difference));
  }

  // Every tensor in every way it lies, but for parts of sums.
  void compare_all(const std::string& when) {
    for (const auto& [id, versions] : devices_.memory().all()) {
      if (!whole_[static_cast<std::size_t>(id)] || graph_.tensor(id).role == TensorRole::parameter_gradient) continue;
      for (const Version& version : versions) {
        if (!version.partial.empty() || version.open) continue;
        ++proof_.compared;
        for (std::int64_t device = 0; device < layout_.devices(); ++device) {
          compare(when, id, device, version.pieces[static_cast<std::size_t>(device)]);
        }
      }
    }
    if (when != "forward") return;
    for (const TensorId id : must_lie_home_) must_lie_home(id);
  }

  // All that they made. Programs by rules leave sums to others, and what attention used as it used it.
  void must_lie_home(const std::set<OperatorId>& operators) const {
    if (!program_.plan.by_compiler) return;
    for (const OperatorId id : operators) {
      for (const Operand& output : graph_.op(id).outputs) {
        if (graph_.tensor(output.tensor).role != TensorRole::parameter_gradient) must_lie_home(output.tensor);
      }
    }
  }

  void must_lie_home(TensorId id) const {
    if (devices_.memory().find(id, {}, boxes_of(layout_, id, home(id))) != nullptr) return;
    fail_internal(graph_.tensor(id).name + " does not lie as it should at the end");
  }

  // Backward must read all that is kept for it (for all that it lacks it would have failed), and that takes as many
  // bytes as the program says; so do the tensors that are made again.
  void check_kept(const std::vector<OperatorId>& recomputed) const {
    double kept = 0;
    bool gathered = false;
    for (const TensorId id : program_.block.kept) {
      if (!devices_.was_read(id)) fail_internal(graph_.tensor(id).name + " is kept, and backward does not read it");
      kept += bytes(id);
    }
    for (const Operator& op : graph_.operators) gathered = gathered || op.keeps_gathered;
    std::set<TensorId> made;
    for (const OperatorId id : recomputed) {
      if (graph_.op(id).kind == OperatorKind::view) continue;
      for (const Operand& output : graph_.op(id).outputs) made.insert(output.tensor);
    }
    double again = 0;
    for (const TensorId id : made) again += bytes(id);
    const auto differ = [](double a, double b) { return std::abs(a - b) > 1e-6 * (1 + a); };
    if ((!gathered && differ(kept, program_.block.kept_bytes)) || differ(again, program_.block.recomputed_bytes)) {
      fail_internal(fmt::format("devices keep {} bytes and make {} again, the program says {} and {}", kept, again,
                                program_.block.kept_bytes, program_.block.recomputed_bytes));
    }
  }

  // The bytes of a tensor at home, on the device that has most of it.
  double bytes(TensorId id) const {
    double most = 0;
    for (const Box& box : boxes_of(layout_, id, home(id))) most = std::max(most, static_cast<double>(count(box)));
    return most * graph_.tensor(id).density * graph_.tensor(id).bytes_per_element;
  }

  // Each device's parts of the gradient, summed over the mesh axes that the program says.
  void check_parameter(const ParameterShard& shard) {
    if (graph_.tensor(shard.tensor).frozen) return;
    const MeshAxisSet partial = used(shard.gradient_partial, program_.mesh);
    const std::vector<Box> boxes = boxes_of(layout_, shard.tensor, home(shard.tensor));
    const std::string& name = graph_.tensor(shard.tensor).name;
    if (std::abs(static_cast<double>(count(boxes.front())) - shard.elements) > 1e-6) {
      fail_internal(fmt::format("a device holds {} elements of {}, the program says {}", count(boxes.front()), name,
                                shard.elements));
    }
    std::vector<Piece> sums(boxes.begin(), boxes.end());
    for (const TensorId id : contributions(graph_, shard.tensor)) {
      const Version& version = devices_.memory().all().at(id).front();
      if (!partial.contains(version.partial)) fail_internal("not all that " + name + " is a sum over is reduced");
      for (std::size_t device = 0; device < sums.size(); ++device) sums[device].add(version.pieces[device]);
    }
    const std::optional<Piece> expected = parameter_gradient(graph_, whole_, shard.tensor);
    if (!expected) return;
    for (std::int64_t device = 0; device < layout_.devices(); ++device) {
      Piece sum(boxes[static_cast<std::size_t>(device)]);
      for (const std::int64_t member : layout_.group(device, partial)) {
        sum.values += sums[static_cast<std::size_t>(member)].values;
      }
      const double scale = 1 + expected->values.abs().maxCoeff();
      if (sum.values.size() == 0) continue;
      const double difference = (expected->part(sum.box).values - sum.values).abs().maxCoeff();
      if (difference > kTolerance * scale) {
        fail_internal(fmt::format("the gradient of {} on device {} differs by {:g}", name, device, difference));
      }
    }
    ++proof_.compared;
  }

  // The gradient of each parameter as backward passes leave it, which the program's reductions bring to where it is
  // stepped; and the parameter stepped there, which its gathers bring to where it lies.
  void check_update() {
    const WeightUpdate update = weight_update(program_.block, program_.mesh);
    for (const ParameterShard& shard : program_.block.parameters) join_contributions(shard);
    devices_.run(update.reductions, {});
    for (const ParameterShard& shard : program_.block.parameters) step(shard);
    devices_.run(update.gathers, {});
    for (const ParameterShard& shard : program_.block.parameters) check_stepped(shard);
  }

  // Several uses of a parameter each leave a part of its gradient; those that lie alike are added.
  void join_contributions(const ParameterShard& shard) {
    const std::vector<TensorId> parts = contributions(graph_, shard.tensor);
    std::size_t joined = 0;
    for (const GradientLeft& left : shard.gradients) {
      Version sum;
      sum.partial = used(left.made.partial, program_.mesh);
      const std::vector<Box> boxes = boxes_of(layout_, left.tensor, left.made);
      for (const Box& box : boxes) sum.pieces.emplace_back(box);
      for (const TensorId id : parts) {
        const Version& part = devices_.memory().all().at(id).front();
        bool alike = !part.open && part.partial == sum.partial;
        for (std::size_t device = 0; device < boxes.size(); ++device) {
          alike = alike && part.pieces[device].box == boxes[device];
        }
        if (!alike) continue;
        for (std::size_t device = 0; device < boxes.size(); ++device) sum.pieces[device].add(part.pieces[device]);
        ++joined;
      }
      reduced_.emplace_back(left.tensor, std::move(sum));
    }
    if (joined != parts.size()) {
      fail_internal(fmt::format("gradients of {} do not lie as the program says", graph_.tensor(shard.tensor).name));
    }
    for (auto& [id, sum] : std::exchange(reduced_, {})) devices_.memory().replace(id, std::move(sum));
  }

  // The optimizer steps on what a device has of the gradient's own sharding.
  void step(const ParameterShard& shard) {
    const std::optional<Piece> gradient = parameter_gradient(graph_, whole_, shard.tensor);
    if (shard.gradients.empty() || !gradient) return;
    const TensorId last = shard.gradients.back().tensor;
    const std::vector<Box> boxes = boxes_of(layout_, last, home(last));
    std::vector<Piece> sums;
    for (const Box& box : boxes) sums.emplace_back(box);
    for (const GradientLeft& left : shard.gradients) {
      const Version* reduced = devices_.memory().find(left.tensor, {}, boxes);
      if (reduced == nullptr) fail_internal(graph_.tensor(left.tensor).name + " is not reduced to where it is stepped");
      for (std::size_t device = 0; device < boxes.size(); ++device) sums[device].add(reduced->pieces[device]);
    }
    Version stepped;
    for (std::size_t device = 0; device < boxes.size(); ++device) {
      must_equal("update", last, static_cast<std::int64_t>(device), sums[device], *gradient);
      stepped.pieces.push_back(whole_[static_cast<std::size_t>(shard.tensor)]->part(boxes[device]));
      stepped.pieces.back().values -= sums[device].values;
    }
    ++proof_.compared;
    devices_.memory().replace(shard.tensor, std::move(stepped));
  }

  void check_stepped(const ParameterShard& shard) {
    const std::optional<Piece> gradient = parameter_gradient(graph_, whole_, shard.tensor);
    if (shard.gradients.empty() || !gradient) return;
    Piece expected = *whole_[static_cast<std::size_t>(shard.tensor)];
    expected.values -= gradient->values;
    const std::vector<Box> boxes = boxes_of(layout_, shard.tensor, home(shard.tensor));
    const Version* gathered = devices_.memory().find(shard.tensor, {}, boxes);
    if (gathered == nullptr) fail_internal(graph_.tensor(shard.tensor).name + " is not gathered behind its step");
    for (std::size_t device = 0; device < boxes.size(); ++device) {
      must_equal("update", shard.tensor, static_cast<std::int64_t>(device),
                 gathered->pieces[device].part(boxes[device]), expected);
    }
    ++proof_.compared;
  }

  const DividedProgram& program_;
  const OperatorGraph& graph_;
  const Values& whole_;
  Proof proof_;
  Layout layout_;
  Devices devices_;
  std::vector<TensorId> must_lie_home_;
  std::vector<std::pair<TensorId, Version>> reduced_;
};

}  // namespace

SequenceGroups sequence_groups(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan) {
  SequenceGroups out;
  std::optional<Layout> layout;
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    if (!is_batch_norm(graph, static_cast<OperatorId>(id))) continue;
    if (!layout) layout.emplace(graph, mesh, plan);
    for (std::size_t axis = 0; axis < graph.axes.size(); ++axis) {
      if (graph.axes[axis].divided_by != Parallelism::data || plan.operators[id][axis].empty()) continue;
      out[static_cast<OperatorId>(id)] = layout->parts(static_cast<Axis>(axis), plan.operators[id][axis]);
    }
  }
  return out;
}

Proof prove(const DividedProgram& program, const Values& whole) { return Prover(program, whole).run(); }

}  // namespace mirfak::interpreter
