#include "program/stage_work.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

StageWork::StageWork(Program& program, const Job& job, const StagePlan& plan, bool operators, bool buckets)
    : program_(program), job_(job), plan_(plan), operators_(operators) {
  for (int chunk = 0; chunk < static_cast<int>(plan.chunks.size()); ++chunk) {
    const ChunkPlan& blocks = plan.chunks[static_cast<std::size_t>(chunk)];
    PassWork forward = describe(plan.folded(blocks, Pass::Kind::forward), TaskKind::forward, "forward", chunk);
    add_bodies(forward, chunk, Pass::Kind::forward, 0, blocks.blocks());
    forward_.push_back(std::move(forward));
    backward_.push_back(backward_part(chunk, 0, blocks.blocks()));
    if (buckets) buckets_.push_back(split_into_buckets(chunk));
  }
  optimizer_ = optimizer_step();
}

const PassWork& StageWork::pass(const Pass& pass) const {
  return (pass.kind == Pass::Kind::forward ? forward_ : backward_)[static_cast<std::size_t>(pass.chunk)];
}

PassWork StageWork::backward_part(int chunk, int first, int last) {
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  PassWork work = describe(plan_.folded_backward_part(blocks, first, last), TaskKind::backward, "backward", chunk);
  add_bodies(work, chunk, Pass::Kind::backward, first, last);
  return work;
}

PassWork StageWork::describe(const FoldedBody& folded, TaskKind kind, const char* name, int chunk) {
  TaskClass device;
  device.kind = kind;
  device.name = name;
  device.stage = plan_.stage;
  device.chunk = chunk;
  device.flop = folded.flop;
  device.bytes = folded.bytes;
  device.energy_j = folded.energy_j;
  device.activity_s = folded.activity_s;
  TaskClass host;
  host.kind = TaskKind::issue;
  host.name = std::string("issue ") + name;
  host.stage = plan_.stage;
  host.chunk = chunk;
  host.activity_s[static_cast<std::size_t>(Activity::host)] = to_seconds(folded.host);
  PassWork work;
  work.folded = folded;
  work.task_class = program_.add_class(std::move(device));
  work.issue_class = program_.add_class(std::move(host));
  return work;
}

void StageWork::add_bodies(PassWork& work, int chunk, Pass::Kind kind, int first, int last) {
  if (!operators_) return;
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  for (int i = first; i < last; ++i) {
    const int in_forward_order = kind == Pass::Kind::forward ? i : blocks.blocks() - 1 - i;
    work.bodies.push_back(&steps_of(blocks.block(in_forward_order), kind));
  }
}

const PassWork::Steps& StageWork::steps_of(BlockId block, Pass::Kind kind) {
  const PassWork::Steps*& known = steps_by_block_[{block, kind}];
  if (known != nullptr) return *known;
  const BlockBodies& bodies = plan_.bodies_of(block);
  PassWork::Steps steps;
  for (const BodyStep& step : (kind == Pass::Kind::forward ? bodies.forward : bodies.backward).steps) {
    TaskClass described;
    described.kind = step.stream == StreamKind::compute ? TaskKind::kernel : TaskKind::collective;
    described.name = step.name;
    described.stage = plan_.stage;
    described.flop = step.flop;
    described.bytes = step.bytes;
    described.energy_j = step.energy_j;
    described.activity_s[static_cast<std::size_t>(step.activity)] = to_seconds(step.device);
    steps.push_back({program_.add_class(std::move(described)), &step});
  }
  steps_.push_back(std::move(steps));
  return *(known = &steps_.back());
}

// Gradients complete in backward order; a bucket is reduced when it holds enough parameters, as distributed data
// parallelism does. Buckets end with blocks.
std::vector<BucketWork> StageWork::split_into_buckets(int chunk) {
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  const double per_block = blocks.parameters / std::max(1, blocks.blocks());
  const double wanted = std::ceil(job_.framework.bucket_parameters / std::max(1.0, per_block));
  const int blocks_per_bucket =
      static_cast<int>(std::clamp(wanted, 1.0, std::max(1.0, static_cast<double>(blocks.blocks()))));
  std::vector<BucketWork> parts;
  for (int first = 0; first < blocks.blocks(); first += blocks_per_bucket) {
    const int last = std::min(first + blocks_per_bucket, blocks.blocks());
    parts.push_back({backward_part(chunk, first, last), per_block * (last - first)});
  }
  return parts;
}

PassWork StageWork::optimizer_step() {
  const double shards = job_.strategy.zero >= 1 ? job_.strategy.replicas() : 1;
  const double bytes = plan_.parameters.elements / shards * optimizer_traffic_bytes(job_);
  const KernelCost cost = plan_.costs.kernels.price_memory_bound(bytes);
  const GpuSpec& gpu = plan_.costs.hardware.hardware.gpu;
  FoldedBody folded;
  folded.device = to_picoseconds(cost.seconds);
  folded.bytes = bytes;
  folded.energy_j = (busy_power_w(gpu) - gpu.blocked_w.value) * cost.seconds;
  folded.activity_s[static_cast<std::size_t>(Activity::optimizer)] = to_seconds(folded.device);
  return describe(folded, TaskKind::optimizer, "optimizer step", -1);
}

}  // namespace mirfak
