// Rows of experts in buffers of a fixed size, and in pages. Example: 4,096 tokens of a rank choose 8 of 128 experts on
// 16 ranks each, so 32,768 rows come to a rank with evenly chosen experts. With room for 1.5 times as many, dispatch
// and products write buffers of 49,152 rows, whatever comes, and the host need not know how many do. Kept until the
// backward pass, each layer's buffers take 1.5 times the memory of rows that nobody filled. With pages, kernels copy
// the filled rows out of the buffers, which the next layer then takes; pages of 1.1 times the balanced rows of all
// layers in flight have room for rows that vary over layers.

#include "program/expert_room.hpp"

#include "program/expert_load.hpp"
#include "program/optimizer_offload.hpp"
#include "sharding/row_chunks.hpp"
#include "strategy/expert_room_rules.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

bool is_of_experts(const OperatorGraph& graph, const BlockStep& step) {
  if (step.kind == BlockStep::Kind::collective) return false;
  const Operator& op = graph.op(step.op);
  if (is_where_tokens_are(op)) return false;
  const auto of_rows = [&](const Operand& operand) { return graph.tensor(operand.tensor).density < 1; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), of_rows) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), of_rows);
}

// Returns the steps from behind the experts of a layer to those of the next one, by their place in a body.
std::vector<std::size_t> beside_copies(const OperatorGraph& graph, const std::vector<const BlockStep*>& steps) {
  std::vector<std::size_t> experts;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (is_of_experts(graph, *steps[i])) experts.push_back(i);
  }
  std::vector<std::size_t> out;
  if (experts.empty()) return out;
  for (std::size_t i = experts.back() + 1; i < steps.size(); ++i) out.push_back(i);
  for (std::size_t i = 0; i < experts.front(); ++i) out.push_back(i);
  return out;
}

std::vector<const BlockStep*> steps_of_body(const PartitionedBlock& block, Pass::Kind kind) {
  std::vector<const BlockStep*> out;
  const auto add = [&](const std::vector<BlockStep>& steps) {
    for (const BlockStep& step : steps) out.push_back(&step);
  };
  if (is_forward(kind)) {
    add(block.forward);
  } else {
    add(block.recompute);
    add(block.backward);
  }
  return out;
}

// Copies of a pass of a chunk, and what the pass loses to them.
struct PassCopies {
  StashCopies all;
  double lost_s = 0;
};

PassCopies copies_of_pass(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, int chunk,
                          Pass::Kind kind) {
  PassCopies out;
  const double memory = shared_memory_bytes_per_s(plan.costs.hardware->hardware.gpu);
  for (const BlockRun& run : plan.chunks[static_cast<std::size_t>(chunk)].runs) {
    const PartitionedBlock& block = blocks.of(run.block);
    const StashedRows rows = stashed_rows(job, block, blocks.mesh);
    if (rows.filled.empty()) continue;
    const StashCopies copies = stash_copies(job, rows, plan.costs);
    const BlockBodies& bodies = plan.bodies_of(run.block);
    const Body& body = is_forward(kind) ? bodies.forward : bodies.backward;
    out.lost_s += run.count * lost_to_stash_s(block, body, steps_of_body(block, kind), copies, memory);
    out.all.device_s += run.count * copies.device_s;
    out.all.host_s += run.count * copies.host_s;
    out.all.bytes += run.count * copies.bytes;
    out.all.energy_j += run.count * copies.energy_j;
  }
  return out;
}

}  // namespace

double expert_room(const Job& job) {
  const double capacity = job.strategy.expert_rank_capacity;
  return capacity > 0 ? std::max(1.0, capacity / expert_load(job)) : 1;
}

void make_room(OperatorGraph& graph, double room) {
  for (Tensor& tensor : graph.tensors) {
    if (tensor.density < 1) tensor.room = room;
  }
}

bool runs_over_room(const Job& job, const OperatorGraph& graph, const Operator& op) {
  if (job.strategy.expert_rank_capacity == 0 || fuses_experts(job.training, job.framework)) return false;
  const std::optional<Tag> activation = graph.find_tag("moe_act");
  return activation && op.tags.contains(*activation);
}

double StashedRows::copied() const { return std::accumulate(filled.begin(), filled.end(), 0.0); }

StashedRows stashed_rows(const Job& job, const PartitionedBlock& block, const DeviceMesh& mesh) {
  StashedRows out;
  if (job.strategy.expert_stash == 0) return out;
  const double load = expert_load(job);
  for (const TensorId id : block.kept) {
    const Tensor& tensor = block.graph.tensor(id);
    if (tensor.density >= 1) continue;
    const double bytes = bytes_at_once(block.graph, id, block.shardings[static_cast<std::size_t>(id)], mesh);
    out.filled.push_back(bytes / tensor.room);
    out.room += bytes;
    out.balanced += out.filled.back() / load;
  }
  return out;
}

double spilled_share(const Job& job) { return std::max(0.0, 1 - job.strategy.expert_stash / expert_load(job)); }

StashCopies stash_copies(const Job& job, const StashedRows& rows, const StageCosts& costs) {
  StashCopies out;
  const Launch launch = job.training.cuda_graphs.iteration ? Launch::graph : Launch::stream;
  const double spilled = spilled_share(job);
  for (const double filled : rows.filled) {
    const KernelCost cost =
        costs.kernels.price_memory_bound(2 * (1 - spilled) * filled, OperatorKind::elementwise, launch);
    out.device_s += cost.seconds;
    out.bytes += cost.bytes;
    out.energy_j += energy_above_waiting_j(costs.kernels, cost);
  }
  out.host_s = host_copy_seconds(spilled * rows.copied(), costs.hardware->hardware);
  return out;
}

double lost_to_stash_s(const PartitionedBlock& block, const Body& body, const std::vector<const BlockStep*>& steps,
                       const StashCopies& copies, double memory_bytes_per_s) {
  double on_device = copies.device_s;
  double to_host = copies.host_s;
  double lost = 0;
  for (const std::size_t place : beside_copies(block.graph, steps)) {
    const BodyStep& step = body.steps[place];
    const double alone = to_seconds(step.device);
    if (alone <= 0) continue;
    const double moved = step.stream == StreamKind::compute ? step.bytes : step.memory_bytes;
    const double wants = std::min(1.0, moved / (memory_bytes_per_s * alone));
    const double slower = std::max(1.0, 2 * wants);
    const double left_over = 1 - std::min(wants, 0.5);
    // The part of the step that runs beside copies in the device's memory; the rest runs beside those to the host.
    const double beside = std::min(1.0, on_device / (left_over * slower * alone));
    lost += beside * (slower - 1) * alone;
    on_device = std::max(0.0, on_device - beside * left_over * slower * alone);
    to_host = std::max(0.0, to_host - (1 - beside) * alone);
  }
  return lost + on_device + to_host;
}

std::vector<BodyStep> stash_steps(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, int chunk,
                                  Pass::Kind kind) {
  if (job.strategy.expert_stash == 0) return {};
  const PassCopies copies = copies_of_pass(job, blocks, plan, chunk, kind);
  if (copies.all.alone_s() == 0) return {};
  BodyStep step;
  step.name = is_forward(kind) ? "copies of experts' rows to pages" : "copies of experts' rows from pages";
  step.activity = Activity::memory_bound;
  step.device = to_picoseconds(copies.lost_s);
  step.bytes = copies.all.bytes;
  step.energy_j = copies.all.energy_j;
  return {step};
}

double unhidden_stash_share(const Job& job, double seconds) {
  if (job.strategy.expert_stash == 0) return 0;
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  double hidden = 0;
  double ranks = 0;
  for (const StagePlan& plan : plans) {
    ranks += plan.ranks;
    for (int chunk = 0; chunk < static_cast<int>(plan.chunks.size()); ++chunk) {
      for (const Pass::Kind kind : {Pass::Kind::forward, Pass::Kind::backward}) {
        const PassCopies copies = copies_of_pass(job, blocks, plan, chunk, kind);
        hidden += plan.ranks * plan.microbatches_of(chunk) * std::max(0.0, copies.all.alone_s() - copies.lost_s);
      }
    }
  }
  return hidden / (ranks * seconds);
}

}  // namespace mirfak
