// Liveness of tensors, as a compiler computes it for registers. Example: the plain MLP of a layer, nothing recomputed:
//
//   forward    y = norm(x);  u = y W;  a = gelu(u);  z = a V;  r = z + x      kept x y u a, so z exists for two steps
//   backward   da = dr V';  dV = a' dr, a dies;  du = gelu'(u) da, u and da die;  dy = du W';  dW = y' du ...
//
// Memory is largest when the widest tensor meets its gradient: u, du and da in addition to the tensors that are still
// kept. A loss kernel that writes the gradient of the logits over the logits creates no new tensor.

#include "program/block_memory.hpp"

#include "program/split_backward.hpp"
#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace mirfak {

namespace {

constexpr double kCopyBytes = 4;  // of a logit in the widest copy that a loss makes

class Walk {
 public:
  Walk(const PartitionedBlock& block, const DeviceMesh& mesh, const Framework& framework)
      : block_(block),
        mesh_(mesh),
        framework_(framework),
        held_as_(block.graph.tensors.size()),
        last_use_(block.graph.tensors.size(), -1),
        pinned_(block.graph.tensors.size(), false) {
    for (std::size_t id = 0; id < held_as_.size(); ++id) held_as_[id] = static_cast<TensorId>(id);
    find_aliases();
    find_parameter_products();
  }

  BlockMemory run(bool split) {
    BlockMemory out;
    out.kept = block_.kept_bytes;
    for (const TensorId id : block_.kept) pin(id);
    for (const TensorId id : block_.graph.outputs) pin(id);
    append(block_.forward);
    for (const TensorId id : block_.graph.inputs) create(id);
    out.forward = std::max(out.kept, most());

    reset();
    append(block_.recompute);
    append(block_.backward);
    for (const TensorId id : block_.kept) create(id);
    for (const TensorId id : arriving_gradients()) create(id);
    pin_leaving_gradients();
    out.backward = std::max(out.kept, most());
    if (split) walk_halves(out);
    return out;
  }

  BlockAllocations allocations() {
    BlockAllocations out;
    log_ = &out.forward;
    for (const TensorId id : block_.kept) pin(id);
    for (const TensorId id : block_.graph.outputs) pin(id);
    append(block_.forward);
    for (const TensorId id : block_.graph.inputs) out.inputs.push_back(created(id));
    most();
    for (const TensorId id : block_.kept) {  // what no kernel makes: kept views, which are copies, and data
      if (live_or_none(id) >= 0) continue;
      if (const Allocation kept = created(id); kept.tensor >= 0) log(kept);
    }
    for (const TensorId id : block_.graph.outputs) out.outputs.push_back(live_or_none(id));

    log_ = &out.backward;
    reset();
    append(block_.recompute);
    append(block_.backward);
    for (const TensorId id : block_.kept) create(id);
    for (const auto& [id, size] : live_) out.kept.push_back(id);
    const std::vector<TensorId> arriving = arriving_gradients();
    for (const TensorId id : block_.graph.outputs) {
      const auto found =
          std::find_if(arriving.begin(), arriving.end(), [&](TensorId gradient) { return tensor(gradient).of == id; });
      out.output_gradients.push_back(found == arriving.end() ? Allocation{} : created(*found));
    }
    pin_leaving_gradients();
    most();
    for (const TensorId id : block_.graph.inputs) out.input_gradients.push_back(last_gradient_of(id));
    return out;
  }

 private:
  Allocation created(TensorId id) {
    create(id);
    const auto found = live_.find(held_as(id));
    return found == live_.end() ? Allocation{} : Allocation{found->first, found->second};
  }
  TensorId live_or_none(TensorId id) { return live_.contains(held_as(id)) ? held_as(id) : -1; }

  // Returns the last tensor that the walk has left of the gradients of an activation; -1: there is none.
  TensorId last_gradient_of(TensorId activation) {
    TensorId out = -1;
    for (std::size_t id = 0; id < block_.graph.tensors.size(); ++id) {
      const Tensor& of = block_.graph.tensors[id];
      if (of.role == TensorRole::gradient && of.of == activation && live_.contains(held_as_[id])) out = held_as_[id];
    }
    return out;
  }

  void pin_leaving_gradients() {
    const std::vector<TensorId>& streams = block_.graph.inputs;
    for (const Tensor& tensor : block_.graph.tensors) {
      const bool leaves =
          tensor.role == TensorRole::gradient && std::find(streams.begin(), streams.end(), tensor.of) != streams.end();
      if (leaves) pin(static_cast<TensorId>(&tensor - block_.graph.tensors.data()));
    }
  }

  // Tensors that the second half reads and does not make exist when it begins, so the first half leaves them.
  void walk_halves(BlockMemory& out) {
    const std::vector<bool> of_weights = weight_steps(block_);
    std::array<std::vector<BlockStep>, 2> halves;
    for (std::size_t i = 0; i < of_weights.size(); ++i) halves[of_weights[i] ? 1 : 0].push_back(block_.backward[i]);
    reset();
    append(halves[1]);
    const std::vector<TensorId> due =
        read_before_made([](TensorRole role) { return role != TensorRole::parameter_gradient; });
    for (const TensorId id : due) create(id);
    for (const auto& [id, size] : live_) out.due += size;
    out.backward_weight = std::max(out.due, most());

    reset();
    append(block_.recompute);
    append(halves[0]);
    for (const TensorId id : block_.kept) create(id);
    for (const TensorId id : arriving_gradients()) create(id);
    const std::vector<bool> made = made_by_steps();
    for (const TensorId id : due) {
      if (!made[static_cast<std::size_t>(held_as(id))]) create(id);
      pin(id);
    }
    pin_leaving_gradients();
    out.backward_input = std::max(out.kept, most());
  }

  std::vector<bool> made_by_steps() const {
    std::vector<bool> made(block_.graph.tensors.size(), false);
    for (const BlockStep* step : steps_) {
      if (step->kind == BlockStep::Kind::collective) continue;
      for (const Operand& output : block_.graph.op(step->op).outputs) {
        made[static_cast<std::size_t>(held_as_[static_cast<std::size_t>(output.tensor)])] = true;
      }
    }
    return made;
  }

  // Returns the tensors that the steps read before they make them, among those that `wanted` selects.
  template <typename Wanted>
  std::vector<TensorId> read_before_made(const Wanted& wanted) const {
    std::vector<bool> made(block_.graph.tensors.size(), false);
    std::vector<TensorId> out;
    for (const BlockStep* step : steps_) {
      if (step->kind == BlockStep::Kind::collective) continue;
      const Operator& op = block_.graph.op(step->op);
      for (const Operand& input : op.inputs) {
        const bool there = made[static_cast<std::size_t>(held_as_[static_cast<std::size_t>(input.tensor)])];
        if (!there && wanted(tensor(input.tensor).role)) out.push_back(input.tensor);
      }
      for (const Operand& output : op.outputs) {
        made[static_cast<std::size_t>(held_as_[static_cast<std::size_t>(output.tensor)])] = true;
      }
    }
    return out;
  }

  const Tensor& tensor(TensorId id) const { return block_.graph.tensor(id); }
  bool is_kept(TensorId id) const { return std::binary_search(block_.kept.begin(), block_.kept.end(), id); }
  double bytes(TensorId id) const {
    return bytes_at_once(block_.graph, id, block_.shardings[static_cast<std::size_t>(id)], mesh_);
  }
  TensorId& held_as(TensorId id) { return held_as_[static_cast<std::size_t>(id)]; }

  // A view shares memory with its operand; a view that is kept is a copy. A loss overwrites logits as wide as its
  // result.
  void find_aliases() {
    for (const Operator& op : block_.graph.operators) {
      if (op.kind == OperatorKind::view) {
        for (const Operand& output : op.outputs) {
          if (!is_kept(output.tensor)) held_as(output.tensor) = held_as(op.inputs.front().tensor);
        }
      }
      if (op.kind != OperatorKind::cross_entropy || op.inputs.empty()) continue;
      const TensorId logits = op.inputs.front().tensor;
      if (op.phase == Phase::forward) {
        for (const Operand& output : op.outputs) {
          if (bytes(output.tensor) == bytes(logits)) held_as(logits) = output.tensor;
        }
        continue;
      }
      if (!framework_.memory.loss_overwrites_logits) continue;
      for (const Operand& input : op.inputs) {
        if (bytes(input.tensor) == bytes(op.outputs.front().tensor)) held_as(op.outputs.front().tensor) = input.tensor;
      }
    }
  }

  // Marks the weight gradients of one microbatch that a kernel after the product adds to the buffer.
  void find_parameter_products() {
    added_.assign(block_.graph.tensors.size(), false);
    for (const Operator& op : block_.graph.operators) {
      for (const Operand& input : op.inputs) {
        const bool written = std::any_of(op.outputs.begin(), op.outputs.end(),
                                         [&](const Operand& output) { return output.tensor == input.tensor; });
        if (!written) added_[static_cast<std::size_t>(input.tensor)] = true;
      }
    }
  }

  bool counts(TensorId id) const {
    switch (tensor(id).role) {
      case TensorRole::parameter:
        return false;
      case TensorRole::parameter_copy:
        return tensor(id).passing;
      case TensorRole::parameter_gradient:
        return added_[static_cast<std::size_t>(id)];
      default:
        return true;
    }
  }

  void reset() {
    steps_.clear();
    live_.clear();
    std::fill(pinned_.begin(), pinned_.end(), false);
    std::fill(last_use_.begin(), last_use_.end(), -1);
  }

  void append(const std::vector<BlockStep>& steps) {
    for (const BlockStep& step : steps) {
      const int place = static_cast<int>(steps_.size());
      steps_.push_back(&step);
      if (step.kind == BlockStep::Kind::collective) {
        use(step.tensor, place);
        continue;
      }
      for (const Operand& input : block_.graph.op(step.op).inputs) use(input.tensor, place);
      for (const Operand& output : block_.graph.op(step.op).outputs) use(output.tensor, place);
    }
  }

  void use(TensorId id, int place) { last_use_[static_cast<std::size_t>(held_as(id))] = place; }
  void pin(TensorId id) {
    if (id >= 0) pinned_[static_cast<std::size_t>(held_as(id))] = true;
  }
  void create(TensorId id) {
    if (id >= 0 && counts(held_as(id))) live_.emplace(held_as(id), bytes(held_as(id)));
  }

  // Gradients that come from outside the block.
  std::vector<TensorId> arriving_gradients() const {
    return read_before_made([](TensorRole role) { return role == TensorRole::gradient; });
  }

  // Returns how many logits are copied by the loss of a step; 0 for other steps.
  double copied_logits(const BlockStep& step) const {
    if (step.kind != BlockStep::Kind::kernel) return 0;
    const Operator& op = block_.graph.op(step.op);
    if (op.kind != OperatorKind::cross_entropy || framework_.fusion.cross_entropy) return 0;
    const TensorId logits = op.phase == Phase::forward ? op.inputs.front().tensor : op.outputs.front().tensor;
    return bytes(logits) / tensor(logits).bytes_per_element;
  }

  // Returns bytes of the copies of the logits, or of their gradients, that a loss makes for itself.
  double copies(const BlockStep& step) const {
    const double logits = copied_logits(step);
    if (logits == 0) return 0;
    const bool forward = block_.graph.op(step.op).phase == Phase::forward;
    return logits * (forward ? framework_.memory.loss_copy_bytes : framework_.memory.loss_gradient_copy_bytes);
  }

  // Bytes held while backward goes through the chunks of a loss, in addition to the gradients that chunks add up.
  double chunk_sums() const {
    double elements = 0;
    for (const BlockStep* step : steps_) {
      if (step->kind != BlockStep::Kind::kernel) continue;
      const Operator& op = block_.graph.op(step->op);
      if (!op.in_chunks || op.kind != OperatorKind::einsum || op.phase == Phase::forward) continue;
      if (op.phase == Phase::weight_gradient && framework_.kernels.casts_weights) continue;
      const TensorId sum = op.outputs.front().tensor;
      elements += bytes(sum) / tensor(sum).bytes_per_element;
    }
    return elements * framework_.memory.chunk_sum_bytes;
  }

  bool goes_back_in_chunks(const BlockStep& step) const {
    if (step.kind != BlockStep::Kind::kernel) return false;
    const Operator& op = block_.graph.op(step.op);
    return op.in_chunks && op.phase != Phase::forward;
  }

  // A collective's buffer exists from the collective to the next kernel of its operator, which reads the buffer, or
  // from the last kernel before it, which wrote the buffer. An all-reduce works in place.
  std::vector<double> buffers() const {
    std::vector<double> at(steps_.size(), 0);
    std::map<OperatorId, std::size_t> wrote;
    std::map<OperatorId, std::vector<std::pair<std::size_t, double>>> awaited;
    const auto add = [&](std::size_t first, std::size_t last, double size) {
      for (std::size_t i = first; i <= last; ++i) at[i] += size;
    };
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const BlockStep& step = *steps_[i];
      if (step.kind == BlockStep::Kind::kernel) {
        for (const auto& [from, size] : awaited[step.op]) add(from, i, size);
        awaited[step.op].clear();
        wrote[step.op] = i;
        continue;
      }
      if (step.collective == CollectiveKind::all_reduce) continue;
      const auto before = wrote.find(step.op);
      if (before == wrote.end()) {
        awaited[step.op].emplace_back(i, step.bytes);
      } else {
        add(before->second, i, std::max(0.0, step.bytes - bytes(step.tensor)));
      }
    }
    return at;
  }

  double most() {
    const std::vector<double> extra = buffers();
    const double sums = framework_.memory.chunk_sum_bytes > 0 ? chunk_sums() : 0;
    double now = 0;
    for (const auto& [id, size] : live_) now += size;
    double most = now;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const BlockStep& step = *steps_[i];
      if (step.kind == BlockStep::Kind::kernel) {
        for (const Operand& output : block_.graph.op(step.op).outputs) {
          const TensorId id = held_as(output.tensor);
          if (!counts(id) || !live_.emplace(id, bytes(id)).second) continue;
          now += bytes(id);
          log({id, bytes(id)});
        }
      }
      const double summed = goes_back_in_chunks(step) ? sums : 0;
      const double buffer = extra[i] + copies(step) + summed;
      if (buffer > 0) log({Allocation::kBuffer, buffer, std::max(extra[i] + summed, copied_logits(step) * kCopyBytes)});
      most = std::max(most, now + buffer);
      now -= free_after(static_cast<int>(i));
    }
    return most;
  }

  void log(const Allocation& allocation) {
    if (log_ != nullptr) log_->push_back(allocation);
  }

  double free_after(int place) {
    double freed = 0;
    const auto free = [&](TensorId id) {
      id = held_as(id);
      const auto found = live_.find(id);
      const bool needed = pinned_[static_cast<std::size_t>(id)];
      if (found == live_.end() || needed || last_use_[static_cast<std::size_t>(id)] > place) return;
      freed += found->second;
      live_.erase(found);
      log({id, 0});
    };
    const BlockStep& step = *steps_[static_cast<std::size_t>(place)];
    if (step.kind == BlockStep::Kind::collective) {
      free(step.tensor);
      return freed;
    }
    for (const Operand& input : block_.graph.op(step.op).inputs) free(input.tensor);
    for (const Operand& output : block_.graph.op(step.op).outputs) free(output.tensor);
    return freed;
  }

  const PartitionedBlock& block_;
  const DeviceMesh& mesh_;
  const Framework& framework_;
  std::vector<TensorId> held_as_;  // the tensor whose memory each has
  std::vector<int> last_use_;      // the last step that reads or writes the tensor
  std::vector<bool> added_;        // tensors read by an operator that does not write them
  std::vector<const BlockStep*> steps_;
  std::vector<bool> pinned_;  // tensors that outlive the walk
  std::map<TensorId, double> live_;
  std::vector<Allocation>* log_ = nullptr;  // takes what comes and goes, in order; nullptr: nobody asks
};

}  // namespace

BlockMemory block_memory(const PartitionedBlock& block, const DeviceMesh& mesh, const Framework& framework,
                         bool split) {
  return Walk(block, mesh, framework).run(split);
}

BlockAllocations block_allocations(const PartitionedBlock& block, const DeviceMesh& mesh, const Framework& framework) {
  return Walk(block, mesh, framework).allocations();
}

}  // namespace mirfak
