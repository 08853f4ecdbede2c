#include "plan/branch.hpp"

#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace mirfak {

namespace {

PassTerms terms_of(const BlockBodies& fastest, const BlockBodies& thriftiest) {
  PassTerms out;
  out.forward = fastest.folded_forward.device;
  out.backward = fastest.folded_backward.device;
  out.issue_forward = fastest.folded_forward.host;
  out.issue_backward = fastest.folded_backward.host;
  out.energy_j = thriftiest.folded_forward.energy_j + thriftiest.folded_backward.energy_j;
  return out;
}

Picoseconds sum_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs) {
  Picoseconds sum = 0;
  for (const ReplicaCollective& collective : collectives) sum += to_picoseconds(price(collective, costs).seconds);
  return sum;
}

// The layers of a chunk between the ends, and the fewer ones at them, that add up to the model's.
void add_splits(const Strategy& strategy, const StrategySpace& space, std::int64_t layers, PipelineChoice choice,
                std::vector<PipelineChoice>& out) {
  if (layers % choice.chunks != 0) return;
  const int stages = strategy.pipeline;
  const auto per_round = static_cast<int>(layers / choice.chunks);  // one chunk of each stage
  const int most = stages > 1 ? space.uneven_layers : 0;
  for (int first = 0; first <= most; ++first) {
    for (int last = 0; last <= most; ++last) {
      if ((per_round + first + last) % stages != 0) continue;
      choice.middle = (per_round + first + last) / stages;
      choice.first = choice.middle - first;
      choice.last = choice.middle - last;
      if (choice.first < 1 || choice.last < 1) continue;
      out.push_back(choice);
    }
  }
}

}  // namespace

PassTerms& PassTerms::operator+=(const PassTerms& other) {
  forward += other.forward;
  backward += other.backward;
  issue_forward += other.issue_forward;
  issue_backward += other.issue_backward;
  energy_j += other.energy_j;
  return *this;
}

PassTerms& PassTerms::operator-=(const PassTerms& other) {
  forward -= other.forward;
  backward -= other.backward;
  issue_forward -= other.issue_forward;
  issue_backward -= other.issue_backward;
  energy_j -= other.energy_j;
  return *this;
}

void PipelineChoice::apply_to(Strategy& strategy) const {
  strategy.virtual_pipeline = chunks;
  strategy.schedule = schedule;
  strategy.recompute_layers = recompute_layers;
  strategy.layer_split.clear();
  if (first == middle && last == middle) return;
  for (int i = 0; i < strategy.pipeline * chunks; ++i) {
    const int stage = i % strategy.pipeline;
    strategy.layer_split.push_back(stage == 0 ? first : stage + 1 == strategy.pipeline ? last : middle);
  }
}

void StateChoice::apply_to(Strategy& strategy) const {
  strategy.zero = zero;
  strategy.overlap_grad_reduce = overlap_grad_reduce;
  strategy.overlap_param_gather = overlap_param_gather;
}

Branch::Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, SharedBlocks& shared)
    : layout_(std::move(layout)), job_(layout_->job) {
  job_.strategy = strategy;
  set_ = shared.of(job_);
  layers_ = layer_blocks(job_, set_->blocks);
  microbatches_ = mirfak::microbatches(strategy, job_.training);
  const ShardedBlocks& blocks = set_->blocks;
  for (const int stage : layout_->first_of_kind) {
    const StageCosts& costs = layout_->stages[static_cast<std::size_t>(stage)];
    const auto [lowest, highest] = settled_clocks(costs);
    const auto bodies_at = [&](double clock) { return set_->bodies.price_at(job_, blocks, costs, clock, 1).bodies; };
    kinds_.push_back(kind_terms(*bodies_at(highest), *bodies_at(lowest)));
  }
  const int stages = strategy.pipeline;
  for (int stage = 0; stages > 1 && stage < stages; ++stage) {
    const auto transfer = [&](int to) {
      const auto& costs = layout_->stages;
      return to_picoseconds(transfer_cost(job_, costs[static_cast<std::size_t>(stage)],
                                          costs[static_cast<std::size_t>(to)], blocks.residual_bytes(), stage, to)
                                .seconds);
    };
    transfer_on_.push_back(transfer((stage + 1) % stages));
    transfer_back_.push_back(transfer((stage + stages - 1) % stages));
  }

  bound_all();
}

// A mix of layers settles between the clocks that each of them would settle at alone.
std::pair<double, double> Branch::settled_clocks(const StageCosts& costs) const {
  const ShardedBlocks& blocks = set_->blocks;
  std::set<BlockId> used;
  for (const LayerBlocks& layer : layers_) {
    used.insert(layer.kept);
    if (job_.strategy.recompute != Recompute::none) used.insert(layer.recomputed);
  }
  if (job_.model.prediction_layers > 0) used.insert(blocks.prediction_id());
  double lowest = 1;
  double highest = 0;
  for (const BlockId block : used) {
    const double clock = set_->bodies.clock_at(job_, blocks, {{block, 1}}, costs, 1);
    lowest = std::min(lowest, clock);
    highest = std::max(highest, clock);
  }
  return {lowest, highest};
}

// All passes divided over the stages as evenly as their speeds, nothing recomputed that need not be.
void Branch::bound_all() {
  const Strategy& strategy = job_.strategy;
  double speed = 0;
  double energy_j = 0;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const PassTerms all = kinds_[kind].kept.back();
    const auto stages = std::count(layout_->kind_of.begin(), layout_->kind_of.end(), static_cast<int>(kind));
    speed += static_cast<double>(stages) / static_cast<double>(all.forward + all.backward);
    energy_j = kind == 0 ? all.energy_j : std::min(energy_j, all.energy_j);
  }
  constexpr double rounding = 1 - 1e-9;
  bound_ = static_cast<Picoseconds>(microbatches_ / speed * rounding);
  least_energy_j_ = energy_j * microbatches_ * strategy.team() * strategy.data * rounding;
}

Branch::KindTerms Branch::kind_terms(const std::vector<BlockBodies>& fastest,
                                     const std::vector<BlockBodies>& thriftiest) const {
  const auto of = [&](BlockId block) {
    return terms_of(fastest[static_cast<std::size_t>(block)], thriftiest[static_cast<std::size_t>(block)]);
  };
  KindTerms out;
  out.recomputed.emplace_back();
  out.kept.emplace_back();
  for (const LayerBlocks& layer : layers_) {
    (out.recomputed.emplace_back(out.recomputed.back())) += of(layer.recomputed);
    (out.kept.emplace_back(out.kept.back())) += of(layer.kept);
  }
  out.embedding = of(ShardedBlocks::kEmbedding);
  const ShardedBlocks& blocks = set_->blocks;
  out.head = of(blocks.head_id());
  for (std::int64_t i = 0; i < job_.model.prediction_layers; ++i) {
    out.head += of(blocks.prediction_id());
    out.head += of(blocks.head_id());
  }
  return out;
}

PassTerms Branch::passes(int stage, const LayerRange& layers, int recompute_layers, bool embedding, bool head) const {
  const KindTerms& kind = kinds_[static_cast<std::size_t>(layout_->kind_of[static_cast<std::size_t>(stage)])];
  const bool recomputes = job_.strategy.recompute != Recompute::none;
  const auto first = static_cast<std::size_t>(layers.first);
  const auto end = first + static_cast<std::size_t>(layers.count);
  const auto some = recompute_layers == 0 ? end : std::min(end, first + static_cast<std::size_t>(recompute_layers));
  const std::size_t cut = recomputes ? some : first;
  PassTerms out = kind.recomputed[cut];
  out -= kind.recomputed[first];
  out += kind.kept[end];
  out -= kind.kept[cut];
  if (embedding) out += kind.embedding;
  if (head) out += kind.head;
  return out;
}

std::vector<PipelineChoice> Branch::pipelines(const StrategySpace& space) const {
  std::vector<PipelineChoice> splits;
  for (const ScheduleKind schedule : space.schedule) {
    for (const int chunks : space.virtual_pipeline) {
      const bool interleaved = schedule == ScheduleKind::interleaved;
      if ((chunks > 1) != interleaved || (interleaved && job_.strategy.pipeline == 1)) continue;
      PipelineChoice choice;
      choice.chunks = chunks;
      choice.schedule = schedule;
      add_splits(job_.strategy, space, job_.model.layers, choice, splits);
    }
  }
  if (job_.strategy.recompute == Recompute::none) return splits;
  std::vector<PipelineChoice> out;
  for (PipelineChoice choice : splits) {
    for (const int layers : space.recompute_layers) {
      if (layers >= choice.middle) continue;
      choice.recompute_layers = layers;
      out.push_back(choice);
    }
  }
  return out;
}

StateTerms Branch::state_terms(int stage, const std::vector<ChunkPlan>& chunks, const StateChoice& choice) {
  std::vector<int> key = {layout_->kind_of[static_cast<std::size_t>(stage)], choice.zero};
  const bool by_chunk = choice.zero >= 2;
  std::map<BlockId, int> counts;
  for (const ChunkPlan& chunk : chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (by_chunk)
        key.insert(key.end(), {run.block, run.count});
      else
        counts[run.block] += run.count;
    }
    if (by_chunk) key.push_back(-1);
  }
  for (const auto& [block, count] : counts) key.insert(key.end(), {block, count});
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = states_.find(key); known != states_.end()) return known->second;
  }
  Job job = job_;
  choice.apply_to(job.strategy);
  const StageContents contents(job, set_->blocks, stage, chunks);
  const StageCosts& costs = layout_->stages[static_cast<std::size_t>(stage)];
  StateTerms out;
  out.resident = resident_memory(job, set_->blocks, contents).total();
  out.step_workspace = step_workspace(job, contents);
  const HeldParameters held = contents.parameters.held();
  if (job.strategy.replicas() > 1) {
    out.reduce = sum_of(gradient_reduction(job, held), costs);
    if (data_parallel_plan(job).shards > 1) {
      constexpr double number = 4;
      out.norms = sum_of({{"sum gradient norms", CollectiveKind::all_reduce, number, ReplicaGroup::shard}}, costs);
      out.gather = sum_of(parameter_gather(job, contents.parameters, held), costs);
    }
  }
  const FoldedBody step = step_body(job, contents.parameters, costs.kernels);
  out.optimizer = step.device + (host_step_seconds(job) > 0 ? step.lead : 0);
  out.optimizer_energy_j = step.energy_j;
  const std::lock_guard lock(mutex_);
  return states_.emplace(std::move(key), out).first->second;
}

}  // namespace mirfak
