#include "alpa/stage_profile.hpp"

#include "plan/branch.hpp"
#include "program/data_parallel.hpp"
#include "program/optimizer_offload.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"
#include "program/transfer_cost.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <limits>

namespace mirfak::alpa {

namespace {

// Collectives as sharded states need them are enough for all (plan/layout.hpp).
Job with_shards(Job job) {
  job.strategy.zero = std::max(1, job.strategy.zero);
  return job;
}

double longer(const FoldedBody& body) { return to_seconds(std::max(body.device, body.host)); }

}  // namespace

StageProfile::StageProfile(Job job, ShardedBlocks blocks)
    : job_(std::move(job)),
      staged_(job_),
      blocks_(std::move(blocks)),
      costs_(with_shards(job_), replica_classes(job_), 0, 0),
      memory_(memory_of_blocks(job_, blocks_)),
      layers_(layer_blocks(job_, blocks_)) {
  staged_.strategy.pipeline = 2;
  before_.emplace_back(blocks_.all.size());
  for (const LayerBlocks& layer : layers_) {
    before_.push_back(before_.back());
    ++before_.back()[static_cast<std::size_t>(layer.recomputed)];
  }
  BodyCache::Mix mix;
  for (std::size_t id = 0; id < blocks_.all.size(); ++id) {
    if (before_.back()[id] > 0) mix.emplace_back(static_cast<BlockId>(id), before_.back()[id]);
  }
  BodyCache cache(BodyCache::Keep::folds);
  const double limit = costs_.hardware->hardware.clock_limit();
  const SettledClock clock = cache.clock_at(job_, blocks_, mix, costs_, limit);
  bodies_ = cache.price_at(job_, blocks_, costs_, clock.share, limit).bodies;
  const int devices = static_cast<int>(job_.strategy.ranks());
  if (2 * devices <= job_.cluster.gpus()) {
    transfer_s_ =
        transfer_cost(job_, TransferEnd{costs_, 0}, TransferEnd{costs_, devices}, blocks_.residual_bytes()).seconds;
  }
}

std::vector<int> StageProfile::counts(int first, int end) const {
  std::vector<int> out = before_[static_cast<std::size_t>(end)];
  for (std::size_t id = 0; id < out.size(); ++id) out[id] -= before_[static_cast<std::size_t>(first)][id];
  const ChunkPlan ends = chunk(first, end);
  if (ends.embedding) ++out[ShardedBlocks::kEmbedding];
  if (!ends.head) return out;
  const auto predictions = static_cast<int>(job_.model.prediction_layers);
  if (predictions > 0) out[static_cast<std::size_t>(blocks_.prediction_id())] += predictions;
  out[static_cast<std::size_t>(blocks_.head_id())] += 1 + predictions;
  return out;
}

ChunkPlan StageProfile::chunk(int first, int end) const {
  return chunk_of(job_, blocks_, layers_, {first, end - first}, first == 0, end == static_cast<int>(layers_.size()));
}

double StageProfile::least_seconds() const {
  double sum = 0;
  for (const LayerBlocks& layer : layers_) {
    const BlockBodies& bodies = (*bodies_)[static_cast<std::size_t>(layer.recomputed)];
    sum += to_seconds(bodies.folded_forward.device + bodies.folded_backward.device);
  }
  return sum;
}

StageOption StageProfile::option(int first, int end, int zero) {
  const int all = static_cast<int>(layers_.size());
  std::vector<int> key = before_[static_cast<std::size_t>(end)];
  for (std::size_t id = 0; id < key.size(); ++id) key[id] -= before_[static_cast<std::size_t>(first)][id];
  key.push_back(zero * 4 + (first == 0 ? 2 : 0) + (end == all ? 1 : 0));
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  Job job = first == 0 && end == all ? job_ : staged_;
  job.strategy.zero = zero;
  return known_[key] = priced(chunk(first, end), job, first == 0);
}

StageOption StageProfile::priced(const ChunkPlan& chunk, const Job& job, bool first) const {
  const StageContents stage(job, blocks_, 0, {chunk});
  FoldedBody forward;
  FoldedBody backward;
  forward.host = backward.host = to_picoseconds(costs_.host_seconds(job.framework.host.pass_s));
  for (const BlockRun& run : chunk.runs) {
    const BlockBodies& bodies = (*bodies_)[static_cast<std::size_t>(run.block)];
    append(forward, repeated(bodies.folded_forward, run.count));
    append(backward, repeated(bodies.folded_backward, run.count));
  }
  const HeldParameters held = stage.parameters.held();
  const DataParallelPlan replicas = data_parallel_plan(job);
  const double reduce = replicas.reduce == DataParallelPlan::Reduce::never
                            ? 0
                            : to_seconds(time_of(gradient_reduction(job, held), costs_));
  const double gather = replicas.gather == DataParallelPlan::Gather::never
                            ? 0
                            : to_seconds(time_of(parameter_gather(job, stage.parameters, held), costs_));
  const double microbatches = mirfak::microbatches(job.strategy, job.training);
  double once = longer(step_body(job, stage.parameters, costs_));
  double pass = longer(forward) + longer(backward);
  if (replicas.reduce == DataParallelPlan::Reduce::every_backward) {
    pass = std::max(pass, reduce + (replicas.gathers_in_passes() ? 2 * gather : 0));
  } else {
    once += reduce;
  }
  if (!replicas.gathers_in_passes()) once += gather;
  const ChunkMemory runs = chunk_memory(job, memory_, chunk);
  const double resident = resident_memory(job, blocks_, stage).total();
  StageOption out;
  out.seconds = pass + once / microbatches + (first ? 0 : transfer_s_);
  out.activation_bytes = runs.kept;
  out.state_bytes = resident + std::max(runs.forward, runs.backward);
  out.step_bytes = resident + step_workspace(job, stage);
  const double host = host_memory_share(costs_.hardware->hardware.spec);
  if (offloaded_bytes(job, held) > host) out.seconds = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace mirfak::alpa
