#include "alpa/stage_profile.hpp"

#include "plan/state_terms.hpp"
#include "program/data_parallel.hpp"
#include "program/job_layers.hpp"
#include "program/optimizer_offload.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"
#include "program/transfer_cost.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <limits>

namespace mirfak::alpa {

namespace {

// The collectives of sharded states are enough for all states (plan/layout.hpp).
Job with_shards(Job job) {
  job.strategy.zero = std::max(1, job.strategy.zero);
  return job;
}

double longer(const FoldedBody& body) { return to_seconds(std::max(body.device, body.host)); }

}  // namespace

StageClasses::StageClasses(const Job& job) : layers_(static_cast<int>(job.model.layers)) {
  const std::vector<JobLayer> kinds = job_layers(job);
  std::vector<int> kind;
  for (int layer = 0; layer < layers_; ++layer) {
    kind.push_back(static_cast<int>(std::find(kinds.begin(), kinds.end(), job_layer(job, layer)) - kinds.begin()));
  }
  of_.resize(static_cast<std::size_t>((layers_ + 1) * (layers_ + 1)));
  std::map<std::vector<int>, int> known;
  for (int first = 0; first < layers_; ++first) {
    std::vector<int> key = {first == 0 ? 1 : 0, 0};
    for (int end = first + 1; end <= layers_; ++end) {
      key.push_back(kind[static_cast<std::size_t>(end - 1)]);
      key[1] = end == layers_ ? 1 : 0;
      of_[static_cast<std::size_t>(first * (layers_ + 1) + end)] =
          known.try_emplace(key, static_cast<int>(known.size())).first->second;
    }
  }
  count_ = static_cast<int>(known.size());
}

StageProfile::StageProfile(Job job, ShardedBlocks blocks, const StageClasses& classes)
    : job_(std::move(job)),
      staged_(job_),
      blocks_(std::move(blocks)),
      costs_(with_shards(job_), replica_classes(job_), 0, 0),
      memory_(memory_of_blocks(job_, blocks_)),
      layers_(layer_blocks(job_, blocks_)),
      classes_(&classes) {
  staged_.strategy.pipeline = 2;
  std::map<BlockId, int> mix;
  for (const LayerBlocks& layer : layers_) ++mix[layer.recomputed];
  BodyCache cache(BodyCache::Keep::folds);
  const double clock = cache.clock_at(job_, blocks_, {mix.begin(), mix.end()}, costs_);
  bodies_ = cache.price_at(job_, blocks_, costs_, clock, costs_.hardware->hardware.clock_limit()).bodies;
}

// Returns the time of a transfer one way; 0 if the cluster has no room for a second stage of this size.
double StageProfile::transfer_s(const ChunkPlan& chunk) const {
  if (2 * job_.strategy.ranks() > job_.cluster.gpus()) return 0;
  const auto end = [&](int stage) -> TransferEnd {
    return {stage, staged_, costs_, 0, blocks_.stream_bytes(chunk.entering)};
  };
  return transfer_cost(end(0), end(1)).seconds;
}

ChunkPlan StageProfile::chunk(int first, int end, const Job& job) const {
  return chunk_of(job.model, job.strategy, blocks_, layers_, {first, end - first}, first == 0,
                  end == static_cast<int>(layers_.size()));
}

Job StageProfile::in_state(bool alone, const StateOfStages& state) const {
  Job out = alone ? job_ : staged_;
  out.strategy.zero = state.zero;
  out.strategy.recompute_layers = state.recompute_layers;
  return out;
}

std::vector<int> StageProfile::counts(int first, int end, const StateOfStages& state) const {
  std::vector<int> out(blocks_.all.size());
  for (const BlockRun& run : chunk(first, end, in_state(false, state)).runs) {
    out[static_cast<std::size_t>(run.block)] += run.count;
  }
  return out;
}

double StageProfile::least_seconds(int layer, const StateOfStages& state) const {
  const LayerBlocks& of = layers_[static_cast<std::size_t>(layer)];
  const BlockBodies& bodies =
      (*bodies_)[static_cast<std::size_t>(state.recompute_layers > 0 ? of.kept : of.recomputed)];
  return to_seconds(bodies.folded_forward.device + bodies.folded_backward.device);
}

double StageProfile::least_seconds(const StateOfStages& state) const {
  double sum = 0;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) sum += least_seconds(static_cast<int>(layer), state);
  return sum;
}

StageOption StageProfile::option(int first, int end, const StateOfStages& state) {
  const int all = static_cast<int>(layers_.size());
  std::vector<std::optional<StageOption>>& known = known_[{state.zero, state.recompute_layers}];
  known.resize(static_cast<std::size_t>(classes_->count()));
  std::optional<StageOption>& found = known[static_cast<std::size_t>(classes_->of(first, end))];
  if (found) return *found;
  const Job job = in_state(first == 0 && end == all, state);
  found = priced(chunk(first, end, job), job, first == 0);
  return *found;
}

// Returns the seconds of both passes of a microbatch, with its part of the work after the passes of an iteration.
double StageProfile::seconds_of(const StageContents& stage, const ChunkPlan& chunk, const Job& job) const {
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
  double reduce = 0;
  double gather = 0;
  if (replicas.reduce != DataParallelPlan::Reduce::never) {
    reduce = to_seconds(time_of(gradient_reduction(job, held), costs_));
  }
  if (replicas.gather != DataParallelPlan::Gather::never) {
    const bool second = replicas.gathers_in_passes() && job.strategy.zero_second_group > 0;
    gather = to_seconds(time_of(
        parameter_gather(job, stage.parameters, held, second ? GatheredFrom::second_copy : GatheredFrom::shards),
        costs_));
  }
  const double passes = longer(forward) + longer(backward);
  const double step = longer(step_body(job, stage.parameters, costs_));
  const int count = microbatches(job.strategy, job.training);
  const bool in_passes = replicas.gathers_in_passes();
  if (replicas.reduce == DataParallelPlan::Reduce::every_backward) {
    // Collectives run in parallel with the passes: the longer of the two decides.
    return std::max(passes, reduce + (in_passes ? 2 * gather : 0)) + (step + (in_passes ? 0 : gather)) / count;
  }
  return passes + (step + reduce + (in_passes ? 0 : gather)) / count;
}

StageOption StageProfile::priced(const ChunkPlan& chunk, const Job& job, bool first) const {
  const StageContents stage(job, blocks_, 0, {chunk});
  const ChunkMemory runs =
      chunk_memory(job, memory_, stage.chunks.front(), stage.parameters.gathered_bytes_per_element);
  const double resident = resident_memory(job, blocks_, stage).total();
  StageOption out;
  // The activations of a microbatch come while the gradients of another one leave.
  out.seconds = seconds_of(stage, chunk, job) + (first ? 0 : transfer_s(chunk));
  out.activation_bytes = runs.kept;
  out.state_bytes = resident + std::max(runs.forward.bytes(), runs.backward.bytes());
  out.step_bytes = resident + step_workspace(job, stage);
  const double host = host_memory_share(costs_.hardware->hardware.spec);
  if (bytes_on_host(job, stage.parameters) > host) out.seconds = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace mirfak::alpa
