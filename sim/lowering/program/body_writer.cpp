#include "program/body_writer.hpp"

#include "cost/composite_kernels.hpp"
#include "program/exchange_kind.hpp"
#include "program/expert_load.hpp"
#include "program/expert_room.hpp"
#include "program/pass_parts.hpp"
#include "program/quantization_of_job.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace mirfak {

namespace {

Activity activity_of(StreamKind stream) {
  switch (stream) {
    case StreamKind::context:
      return Activity::context_communication;
    case StreamKind::expert:
      return Activity::expert_communication;
    default:
      return Activity::tensor_communication;
  }
}

// Turns a block's steps into a body. Shifts depend on data alone. Other collectives start after the kernel before them,
// and nothing starts before they have ended. If the framework overlaps a collective, only the readers of its result
// wait for it. Steps that depend on an exchange of experts' rows that runs in parallel with other microbatches wait for
// the steps before the exchange instead: in the long run both streams are busy, and the longer one decides.
class BodyWriter {
 public:
  BodyWriter(const Job& job, const PartitionedBlock& block, const StageCosts& costs)
      : job_(job), block_(block), costs_(costs) {
    const CudaGraphs& graphs = job.training.cuda_graphs;
    capture(graphs.attention, "attn_branch");
    capture(graphs.mlp, "mlp_branch");
    capture(graphs.router, "router_branch");
    if (const double load = expert_load(job); load != 1) {
      mean_ = block;
      scale_expert_rows(mean_->graph, 1 / load);
    }
    if (const double room = expert_room(job); room != 1) {
      wide_ = block;
      scale_expert_rows(wide_->graph, room);
    }
  }

  void append(const std::vector<BlockStep>& steps, bool recomputing) {
    const int offset = static_cast<int>(body_.steps.size());
    if (offset > 0) barrier_ = offset - 1;
    body_.steps.reserve(body_.steps.size() + steps.size());
    for (const BlockStep& step : steps) {
      const bool collective = step.kind == BlockStep::Kind::collective;
      BodyStep priced = collective ? price_collective(step) : price_kernel(step);
      const bool forward = step.phase == Phase::forward;
      const bool in_graph = captured(step);
      if (!collective) priced.host = to_picoseconds(host_time(step));
      if (is_part_of_product(step)) priced.host = 0;
      priced.host_waits = !collective && forward && host_waits_before(job_, block_.graph.op(step.op));
      // The first operator of a graph carries the host time of the graph's launch.
      if (in_graph) priced.host = in_graph_ ? 0 : to_picoseconds(graph_launch());
      in_graph_ = in_graph;
      if (job_.training.blocking_launches) hold(priced);
      if (recomputing) priced.name = "recompute_" + priced.name;
      const bool elsewhere = overlaps_exchanges() && !recomputing && carries_rows(block_, step);
      constexpr std::size_t rules = 3;  // rules below that each add at most one dependency
      priced.after.reserve(step.after.size() + rules);
      for (const int before : step.after) {
        const auto exchange = replaced_.find(before + offset);
        if (exchange == replaced_.end())
          priced.after.push_back(before + offset);
        else
          priced.after.insert(priced.after.end(), exchange->second.begin(), exchange->second.end());
      }
      const bool issued = collective && !elsewhere && step.collective != CollectiveKind::shift;
      const bool blocks = issued && (forward || !job_.framework.communication.overlap_tensor_gradients);
      const int index = static_cast<int>(body_.steps.size());
      if (barrier_ >= 0) priced.after.push_back(barrier_);
      if (blocks && index > 0) priced.after.push_back(index - 1);
      if (issued && last_kernel_ >= 0) priced.after.push_back(last_kernel_);
      if (blocks) barrier_ = index;
      if (issued && !blocks) {
        beside_ = index;
        beside_s_ = to_seconds(priced.device);
        beside_share_ = priced.held_share;
      }
      if (!collective) {
        last_kernel_ = index;
        if (std::find(priced.after.begin(), priced.after.end(), beside_) != priced.after.end()) beside_s_ = 0;
        slow_down(priced);
      }
      if (elsewhere) replaced_[index] = priced.after;
      body_.steps.push_back(std::move(priced));
    }
    if (recomputing && !steps.empty() && !captured(steps.front())) {
      body_.steps[static_cast<std::size_t>(offset)].host +=
          to_picoseconds(costs_.host_seconds(job_.framework.host.checkpoint_s));
    }
  }

  Body take() { return std::move(body_); }

 private:
  // True if exchanges run during passes of other microbatches without being merged with them step by step.
  bool overlaps_exchanges() const { return job_.strategy.overlap_expert && !schedule_of(job_.strategy.schedule).pairs; }

  // Slows down a kernel that overlaps with a collective that holds multiprocessors.
  void slow_down(BodyStep& kernel) {
    if (beside_s_ <= 0) return;
    const double device_s = to_seconds(kernel.device);
    const double lost = lost_beside(beside_s_, beside_share_, device_s);
    kernel.device += to_picoseconds(lost);
    beside_s_ -= std::min(beside_s_, device_s + lost);
  }

  // The host issues a kernel after it has noticed the end of the kernel before.
  void hold(BodyStep& step) const {
    if (step.host == 0) return;
    step.held = step.host + to_picoseconds(job_.framework.host.blocking_s);
    step.device += step.held;
    step.host = 0;
  }

  // One call issues a product in pieces, including its shifts.
  bool is_part_of_product(const BlockStep& step) const {
    const bool part =
        step.kind == BlockStep::Kind::collective ? step.collective == CollectiveKind::shift : step.piece > 0;
    return part && block_.graph.op(step.op).kind == OperatorKind::einsum;
  }

  void capture(bool wanted, std::string_view tag) {
    if (!wanted) return;
    if (const std::optional<Tag> found = block_.graph.find_tag(tag)) captured_.insert(*found);
  }

  bool captured(const BlockStep& step) const {
    if (job_.training.cuda_graphs.iteration) return true;
    return block_.graph.op(step.op).tags.intersects(captured_);
  }

  // One launch starts a whole iteration, so a block waits for no launch.
  double graph_launch() const {
    return job_.training.cuda_graphs.iteration ? 0 : costs_.host_seconds(job_.framework.host.graph_s);
  }

  // A grouped product, and its casts, take one call for each expert, unless the device knows the rows of each.
  double experts_beside(const BlockStep& step) const {
    const Operator& op = block_.graph.op(step.op);
    if (op.kind == OperatorKind::einsum && job_.strategy.expert_rank_capacity > 0) return 0;
    if (op.kind != OperatorKind::einsum && !op.auxiliary) return 0;
    return experts_on_device(block_.graph, step) - 1;
  }

  double host_time(const BlockStep& step) const {
    const Framework& framework = job_.framework;
    const Operator& op = block_.graph.op(step.op);
    if (op.auxiliary) return costs_.host_seconds(framework.host.auxiliary_s * (1 + experts_beside(step)));
    double time = step.phase == Phase::forward ? framework.host.forward_s : framework.host.backward_s;
    time *= op.launches * std::ceil(chunks_of(block_.graph, step));
    if (op.kind == OperatorKind::einsum) time += framework.host.expert_s * experts_beside(step);
    if (!op.kernels.empty()) time += framework.host.auxiliary_s * (launches_of_plain_kernels(block_.graph, step) - 1);
    if (op.kind != OperatorKind::einsum && step.piece > 0) time += framework.host.ring_step_s;
    if (op.kind == OperatorKind::dispatch) {
      time += framework.host.dispatch_s + (job_.training.cuda_graphs.router ? 0 : framework.host.routing_s);
    }
    return costs_.host_seconds(time);
  }

  BodyStep price_kernel(const PartitionedBlock& block, const BlockStep& step) const {
    const KernelCost cost = costs_.kernels.price(block, step, captured(step) ? Launch::graph : Launch::stream);
    return kernel_step(block.graph.op(step.op).name, costs_.kernels, cost);
  }

  // With uneven experts, the fullest rank decides the time of a kernel; its work is that of the mean rank.
  BodyStep price_kernel(const BlockStep& step) const {
    if (wide_ && runs_over_room(job_, block_.graph, block_.graph.op(step.op))) return price_kernel(*wide_, step);
    if (!mean_) return price_kernel(block_, step);
    BodyStep mean = price_kernel(*mean_, step);
    if (is_where_tokens_are(block_.graph.op(step.op))) return mean;
    BodyStep fullest = price_kernel(block_, step);
    fullest.flop = mean.flop;
    fullest.executed_flop = mean.executed_flop;
    fullest.bytes = mean.bytes;
    fullest.energy_j = mean.energy_j;
    return fullest;
  }

  StreamKind stream_of(const BlockStep& step) const {
    if (carries_rows(block_, step)) return StreamKind::expert;
    return is_of_context(step.over) ? StreamKind::context : StreamKind::tensor;
  }

  // A gather along an axis that is not the outermost in memory leaves consecutive parts, which are copied to their
  // places; before a reduce-scatter they are copied likewise.
  KernelCost price_copy(const BlockStep& step) const {
    const bool parts =
        step.collective == CollectiveKind::all_gather || step.collective == CollectiveKind::reduce_scatter;
    const bool copies = job_.framework.communication.copies_gathered && step.over == MeshAxisSet(MeshAxis::tensor);
    return parts && copies ? costs_.kernels.price_memory_bound(2 * step.bytes) : KernelCost();
  }

  BodyStep price_collective(const BlockStep& step) const {
    const CommunicationCost cost = price_collective_step(job_, block_, step, costs_);
    BodyStep out;
    out.name = std::string(name_of(collective_of(job_, block_, step))) + " " + block_.graph.tensor(step.tensor).name;
    out.stream = stream_of(step);
    out.activity = activity_of(out.stream);
    const KernelCost copied = price_copy(step);
    out.device = to_picoseconds(cost.seconds + copied.seconds);
    out.copied_s = copied.seconds;
    out.energy_j = copied.seconds > 0 ? energy_above_waiting_j(costs_.kernels, copied) : 0;
    const int peers = costs_.group_over(step.over).shape.ranks - 1;
    out.host =
        to_picoseconds(costs_.host_seconds(job_.framework.host.collective_s + peers * job_.framework.host.peer_s));
    out.bytes = cost.bytes_sent;
    if (cost.flows != FlowPattern::none) {
      out.flows = cost.flows;
      out.network_bytes_per_s = cost.network_bytes_per_s * cost.seconds / (cost.seconds + copied.seconds);
    }
    const double multiprocessors = costs_.hardware->hardware.gpu.multiprocessors;
    out.held_share = cost.multiprocessors / multiprocessors;
    out.memory_bytes = cost.memory_bytes;
    return out;
  }

  const Job& job_;
  const PartitionedBlock& block_;
  const StageCosts& costs_;
  std::optional<PartitionedBlock> mean_;  // with the rows of the mean rank, where ranks have different numbers of rows
  std::optional<PartitionedBlock> wide_;  // with all rows that experts have room for, where they have more than come
  TagSet captured_;                       // tags of operators that run in CUDA graphs
  Body body_;
  bool in_graph_ = false;    // the previous step is captured
  int barrier_ = -1;         // the step that everything after it waits for
  int last_kernel_ = -1;     // last kernel issued: a collective starts after it, whatever the collective reads
  int beside_ = -1;          // the last overlapped collective; no kernel runs beside it once one has waited for it
  double beside_s_ = 0;      // time left of it
  double beside_share_ = 0;  // share of the multiprocessors that it holds
  std::map<int, std::vector<int>> replaced_;  // for overlapped exchanges: the steps to wait for in their place
};

}  // namespace

Body forward_body(const Job& job, const PartitionedBlock& block, const StageCosts& costs) {
  BodyWriter writer(job, block, costs);
  writer.append(block.forward, false);
  return writer.take();
}

Body backward_body(const Job& job, const PartitionedBlock& block, const StageCosts& costs) {
  BodyWriter writer(job, block, costs);
  writer.append(block.recompute, true);
  writer.append(block.backward, false);
  return writer.take();
}

Body update_body(const Job& job, const PartitionedBlock& block, const StageCosts& costs) {
  BodyWriter writer(job, block, costs);
  writer.append(block.update, false);
  return writer.take();
}

}  // namespace mirfak
