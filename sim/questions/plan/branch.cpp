#include "plan/branch.hpp"

#include "plan/layout_bound.hpp"
#include "plan/microbatch_shares.hpp"
#include "program/memory.hpp"
#include "program/optimizer_offload.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"
#include "program/transfer_cost.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

namespace mirfak {

namespace {

PassTerms terms_of(const BlockBodies& fastest, double energy_j) {
  PassTerms out;
  out.forward = fastest.folded_forward.device;
  out.backward = fastest.folded_backward.device;
  out.forward_kernels = fastest.folded_forward.kernels;
  out.backward_kernels = fastest.folded_backward.kernels;
  out.halves = fastest.folded_backward_input.device + fastest.folded_backward_weight.device;
  out.issue_forward = fastest.folded_forward.host;
  out.issue_backward = fastest.folded_backward.host;
  out.energy_j = energy_j;
  return out;
}

constexpr double kPicosecondsPerSecond = 1e12;

}  // namespace

Picoseconds time_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs) {
  Picoseconds sum = 0;
  for (const ReplicaCollective& collective : collectives) sum += to_picoseconds(price(collective, costs).seconds);
  return sum;
}

double min_state(const Job& job, const LayerBound& layers, std::span<const StateChoice> choices) {
  double state = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto same = [&](const StateChoice& before) {
      return before.zero == choices[i].zero && before.offload_optimizer == choices[i].offload_optimizer;
    };
    if (std::any_of(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
    Job with = job;
    choices[i].apply_to(with.strategy);
    state = std::min(state, layers.min_state(with));
  }
  return state;
}

double min_kept(const Strategy& strategy, const LayerBound& layers, bool loops) {
  const bool all_kept = loops && strategy.recompute == Recompute::none && strategy.offload_layers == 0;
  return all_kept ? layers.min_kept() : 0;
}

Branch::Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, const StrategySpace& space,
               SharedBlocks& shared, const EnergyAsked& energy, double headroom)
    : layout_(std::move(layout)), job_(layout_->job), energy_(energy), headroom_(headroom) {
  job_.strategy = strategy;
  plain_ = space.loops();
  shares_ = microbatch_shares(layout_->classes, job_.training.global_batch / strategy.micro_batch);
  set_shapes();
  bound_at_will(space, shared);
}

void Branch::set_shapes() {
  for (int stage = 0; stage < static_cast<int>(job_.strategy.stages.size()); ++stage) {
    if (shape_of(stage) == shaped_.size()) shaped_.push_back({job_.at(stage), {}});
  }
}

void Branch::price(SharedBlocks& shared) {
  set_ = shared.of(job_at(0));
  for (Shaped& shape : shaped_) shape.set = shared.of(shape.job);
  layers_ = layer_blocks(job_, set_->blocks);
  kept_of_.resize(set_->blocks.all.size());
  std::iota(kept_of_.begin(), kept_of_.end(), 0);
  for (const LayerBlocks& layer : layers_) kept_of_[static_cast<std::size_t>(layer.recomputed)] = layer.kept;
  for (const std::size_t place : layout_->first_of_kind) {
    const StageCosts& costs = layout_->costs[place];
    BlockSet& set = blocks(stage_of(place));
    const auto [lowest, highest] = settled_clocks(place);
    const double limit = costs.hardware->hardware.clock_limit();
    const auto fastest = set.bodies.price_at(job_at(stage_of(place)), set.blocks, costs, highest, limit).bodies;
    kinds_.push_back(kind_terms(place, least_energies(place, lowest, highest), *fastest));
    kinds_.back().fastest = fastest;
  }
  price_transfers();
}

// Returns the least energy of each block in both passes; 0 if energy is not asked for.
std::vector<double> Branch::least_energies(std::size_t place, double lowest, double highest) const {
  const StageCosts& costs = layout_->costs[place];
  BlockSet& set = blocks(stage_of(place));
  std::vector<double> out(set.blocks.all.size());
  if (!energy_.any) return out;
  const auto bodies_at = [&](double clock, double limit) {
    return set.bodies.price_at(job_at(stage_of(place)), set.blocks, costs, clock, limit).bodies;
  };
  for (std::size_t block = 0; block < out.size(); ++block) {
    out[block] = least_over(energy_, costs.hardware->hardware.clock_limit(), [&](double limit) {
      const EnergyRange range(costs.hardware->hardware, limit, lowest, highest);
      return range.least((*bodies_at(lowest, limit))[block], (*bodies_at(highest, limit))[block]);
    });
  }
  return out;
}

// A mix of layers settles no higher than the highest of the clocks at which each layer would settle alone. The mix may
// settle lower than all of them: a host that is late in one layer makes up for it in another.
std::pair<double, double> Branch::settled_clocks(std::size_t place) const {
  BlockSet& set = blocks(stage_of(place));
  std::set<BlockId> used;
  for (const LayerBlocks& layer : layers_) {
    used.insert(layer.kept);
    if (job_.strategy.recompute != Recompute::none) used.insert(layer.recomputed);
  }
  if (job_.model.prediction_layers > 0) used.insert(set.blocks.prediction_id());
  double lowest = 1;
  double highest = 0;
  for (const BlockId block : used) {
    const SettledClock clock =
        set.bodies.clock_at(job_at(stage_of(place)), set.blocks, {{block, 1}}, layout_->costs[place], 1);
    lowest = std::min(lowest, clock.without_waiting);
    highest = std::max(highest, clock.highest);
  }
  return {lowest, highest};
}

bool Branch::as_large(BlockId a, BlockId b) const {
  const auto same = [&](const BlockSet& set) { return set.blocks.stream_bytes(a) == set.blocks.stream_bytes(b); };
  if (shaped_.empty()) return same(*set_);
  return std::all_of(shaped_.begin(), shaped_.end(), [&](const Shaped& shape) { return same(*shape.set); });
}

void Branch::find_streams() {
  const auto add = [&](BlockId block) {
    const auto known =
        std::find_if(streams_.begin(), streams_.end(), [&](BlockId other) { return as_large(block, other); });
    stream_of_.push_back(static_cast<std::size_t>(known - streams_.begin()));
    if (known == streams_.end()) streams_.push_back(block);
  };
  add(ShardedBlocks::kEmbedding);
  for (const LayerBlocks& layer : layers_) add(layer.kept);
}

// Stages with shapes of their own have one chunk, so there is no transfer from the last stage to the first.
void Branch::price_transfers() {
  const int stages = job_.strategy.pipeline;
  find_streams();
  if (stages == 1) return;
  const bool around = shaped_.empty();
  for (int stage = 0; stage < stages; ++stage) {
    for (int own = 0; own < layout_->count(); ++own) {
      for (const BlockId stream : streams_) {
        const auto end = [&](int at) -> TransferEnd {
          const int first = layout_->classes[static_cast<std::size_t>(own)].first();
          const double bytes = blocks(at).blocks.stream_bytes(stream);
          return {at, job_at(at), layout_->costs[layout_->place(at, own)], first, bytes};
        };
        const auto transfer = [&](int to) { return to_picoseconds(transfer_cost(end(stage), end(to)).seconds); };
        transfer_on_.push_back(around || stage + 1 < stages ? transfer((stage + 1) % stages) : 0);
        transfer_back_.push_back(around || stage > 0 ? transfer((stage + stages - 1) % stages) : 0);
      }
    }
  }
}

// Divides all microbatches over the replicas, and their passes over the stages, in proportion to speed. Nothing is
// recomputed that need not be.
void Branch::bound_at_will(const StrategySpace& space, SharedBlocks& shared) {
  const bool plain = space.plain();
  // Communication may overlap with the kernels of other passes, or with gradients of weights.
  const auto shortest_of = [&](const LayerBound::Terms& all) {
    return plain ? all.device.back() : to_picoseconds(all.kernels_s);
  };
  for (const std::size_t place : layout_->first_of_kind) {
    const Job& job = job_at(stage_of(place));
    layer_terms_.push_back(shared.layers_of(job)->on(job, layout_->costs[place], energy_));
  }
  double speed = 0;  // microbatches a picosecond
  for (std::size_t place = 0; place < layout_->costs.size(); ++place) {
    const LayerBound::Terms& all = *layer_terms_[static_cast<std::size_t>(layout_->kind_of[place])];
    const ReplicaClass& own = layout_->classes[place % layout_->classes.size()];
    const double of_place = own.count() / static_cast<double>(shortest_of(all));
    speed += of_place;
    work_places_.push_back({of_place * kPicosecondsPerSecond, all.energy_j * ranks_per_replica(stage_of(place))});
  }
  merge_alike(work_places_);
  min_energy_j_ = least_energy(work_places_, microbatches(), 0, 0) * kRounding;
  bound_ = static_cast<Picoseconds>(microbatches() / speed * kRounding);
}

// Bounds the branch by the pipeline of the space that divides the work best.
void Branch::list(const StrategySpace& space, SharedBlocks& shared) {
  pipelines_ = shared.pipelines_of(job_, space, layout_->hardware_of);
  plain_ = true;
  Picoseconds best = std::numeric_limits<Picoseconds>::max();
  Lines lines;
  for (const PipelineChoice& choice : *pipelines_) {
    plain_ = plain_ && choice.plain();
    rows_ += static_cast<std::int64_t>(choice.row->size() * shares_.size());
    if (shares_.empty()) continue;
    set_lines(choice, lines);
    best = std::min(best, bound_of_share(lines, best_share(lines)));
  }
  bound_ = std::max(bound_, best);
}

void Branch::set_lines(const PipelineChoice& choice, Lines& lines) const {
  lines.resize(static_cast<std::size_t>(layout_->count()));
  for (int own = 0; own < layout_->count(); ++own) set_lines(choice, own, lines[static_cast<std::size_t>(own)]);
}

// The first pass of a stage follows the first passes of the stages before it; its last pass precedes their last passes
// (PipelineBound).
void Branch::set_lines(const PipelineChoice& choice, int own, std::vector<StageLine>& lines) const {
  lines.clear();
  if (!choice.plain()) {
    double min = std::numeric_limits<double>::infinity();
    for (const auto& kind : layer_terms_) min = std::min(min, kind->kernels_s);
    // The busiest stage runs at least the average share of the passes.
    lines.push_back({0, to_picoseconds(min / job_.strategy.pipeline * kRounding)});
    return;
  }
  const bool alike =
      std::all_of(layer_terms_.begin(), layer_terms_.end(), [](const auto& of) { return of->of_each > 0; });
  const std::vector<int> begins = alike ? std::vector<int>() : choice.begins();
  Picoseconds around = 0;
  for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
    const int kind = layout_->kind_of[layout_->place(stage, own)];
    const LayerBound::Terms& terms = *layer_terms_[static_cast<std::size_t>(kind)];
    Picoseconds first = 0;
    Picoseconds all = 0;
    if (alike) {
      first = terms.of_each * choice.layers_of_first_chunk(stage);
      all = terms.of_each * choice.layers_of_stage(stage);
    } else {
      for (int chunk = 0; chunk < choice.chunks; ++chunk) {
        const Picoseconds of_chunk = terms.of(choice.layers_of(begins, stage, chunk));
        if (chunk == 0) first = of_chunk;
        all += of_chunk;
      }
    }
    // Later stages begin later: an earlier stage matters only if it has more to do.
    while (!lines.empty() && lines.back().each <= all) lines.pop_back();
    lines.push_back({around, all});
    around += first;
  }
}

Picoseconds Branch::bound_of_share(const Lines& lines, std::size_t share) const {
  Picoseconds out = 0;
  for (std::size_t own = 0; own < lines.size(); ++own) {
    const Picoseconds m = (*shares_[share])[own];
    for (const StageLine& line : lines[own]) out = std::max(out, line.around + m * line.each);
  }
  return out;
}

// From one share to the next the first class has more microbatches and the second fewer: the time of the first class
// rises and that of the second falls, and the best share is where the two meet.
std::size_t Branch::best_share(const Lines& lines) const {
  std::size_t low = 0;
  std::size_t high = shares_.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (bound_of_share(lines, middle) <= bound_of_share(lines, middle + 1)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

bool Branch::may_fit(std::span<const StateChoice> choices, SharedBlocks& shared) const {
  std::map<std::size_t, LayerBytes> bytes;  // by shape
  const auto bytes_of = [&](int stage) {
    const auto [known, is_new] = bytes.try_emplace(shape_of(stage));
    if (is_new) {
      const Job& job = job_at(stage);
      const std::shared_ptr<LayerBound> layers = shared.layers_of(job);
      known->second = {min_state(job, *layers, choices), min_kept(job.strategy, *layers, plain_)};
    }
    return known->second;
  };
  for (int own = 0; own < layout_->count(); ++own) {
    const auto index = static_cast<std::size_t>(own);
    int microbatches = job_.strategy.pipeline;
    for (const auto& share : shares_) microbatches = std::min(microbatches, (*share)[index]);
    std::vector<StageRoom> stages;
    for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
      const StageCosts& costs = layout_->costs[layout_->place(stage, own)];
      stages.push_back({usable_bytes(costs.hardware->hardware.gpu.memory_bytes.value, headroom_) -
                            job_.framework.memory.platform_bytes,
                        bytes_of(stage)});
    }
    if (!layers_may_fit(stages, job_.model.layers, microbatches)) return false;
  }
  return true;
}

Branch::KindTerms Branch::kind_terms(std::size_t place, const std::vector<double>& energies_j,
                                     const std::vector<BlockBodies>& fastest) const {
  const auto of = [&](BlockId block) {
    return terms_of(fastest[static_cast<std::size_t>(block)], energies_j[static_cast<std::size_t>(block)]);
  };
  KindTerms out;
  out.recomputed.emplace_back();
  out.kept.emplace_back();
  for (const LayerBlocks& layer : layers_) {
    (out.recomputed.emplace_back(out.recomputed.back())) += of(layer.recomputed);
    (out.kept.emplace_back(out.kept.back())) += of(layer.kept);
  }
  out.embedding = of(ShardedBlocks::kEmbedding);
  const ShardedBlocks& own = blocks(stage_of(place)).blocks;
  out.head = of(own.head_id());
  for (std::int64_t i = 0; i < job_.model.prediction_layers; ++i) {
    out.head += of(own.prediction_id());
    out.head += of(own.head_id());
  }
  return out;
}

PipelineShape Branch::shape(const PipelineChoice& choice, int replica_class) const {
  PipelineShape out = pipeline_shape(job_.strategy, choice.microbatches_of(replica_class));
  out.chunks = choice.chunks;
  return out;
}

const BlockBodies& Branch::fastest(std::size_t place, BlockId block) const {
  return (*kinds_[static_cast<std::size_t>(layout_->kind_of[place])].fastest)[static_cast<std::size_t>(block)];
}

PassTerms Branch::passes(std::size_t place, const LayerRange& layers, const RecomputedLayers& recomputed,
                         bool embedding, bool head) const {
  const KindTerms& kind = kinds_[static_cast<std::size_t>(layout_->kind_of[place])];
  const bool recomputes = job_.strategy.recompute != Recompute::none;
  const auto first = static_cast<std::size_t>(layers.first);
  const auto end = first + static_cast<std::size_t>(layers.count);
  const int number = recomputed.method == RecomputeMethod::block ? recomputed.layers : 0;
  const auto some = number == 0 ? end : std::min(end, first + static_cast<std::size_t>(number));
  const std::size_t cut = recomputes ? some : first;
  PassTerms out = kind.recomputed[cut];
  out -= kind.recomputed[first];
  out += kind.kept[end];
  out -= kind.kept[cut];
  if (embedding) out += kind.embedding;
  if (head) out += kind.head;
  return out;
}

std::optional<IterationScore> Branch::score(const Job& job,
                                            const std::function<bool(const IterationScore&)>& hopeless) const {
  if (shaped_.empty()) {
    return score_iteration(job, set_->blocks, set_->bodies, hopeless, set_->memory, headroom_);
  }
  return score_iteration(job, blocks_of(job), set_->bodies, hopeless, {}, headroom_);
}

// Returns the blocks of a strategy of the branch whose stages have shapes of their own. Blocks and their prices are
// shared; the rest belongs to the strategy.
ShardedBlocks Branch::blocks_of(const Job& job) const {
  ShardedBlocks out = set_->blocks;
  std::vector<std::shared_ptr<const ShapedStage>> shapes;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const std::size_t shape = shape_of(stage);
    if (shape == shapes.size()) {
      const std::shared_ptr<BlockSet>& set = shaped_[shape].set;
      shapes.push_back(
          std::make_shared<const ShapedStage>(ShapedStage{job.at(stage), {set, &set->blocks}, {set, &set->bodies}}));
    }
    out.stages.push_back(shapes[shape]);
  }
  return out;
}

std::vector<PipelineChoice> Branch::pipelines() const {
  std::vector<PipelineChoice> out;
  visit_pipelines([](Picoseconds) { return true; },
                  [&](const PipelineChoice& choice, std::size_t) { out.push_back(choice); });
  return out;
}

// Bounds rise on either side of the best share.
std::int64_t Branch::visit_pipelines(const std::function<bool(Picoseconds)>& may,
                                     const std::function<void(const PipelineChoice&, std::size_t)>& visit) const {
  std::int64_t skipped = 0;
  std::size_t number = 0;
  Lines lines;
  for (const PipelineChoice& listed : *pipelines_) {
    const std::size_t count = shares_.size();
    if (count == 0) break;
    set_lines(listed, lines);
    const auto matters = [&](std::size_t share) { return may(bound_of_share(lines, share)); };
    std::size_t begin = best_share(lines);
    std::size_t end = begin;
    if (matters(begin)) {
      while (begin > 0 && matters(begin - 1)) --begin;
      for (++end; end < count && matters(end);) ++end;
    }
    skipped += static_cast<std::int64_t>(listed.row->size() * (count - (end - begin)));
    for (std::size_t share = begin; share < end; ++share) {
      PipelineChoice choice = listed;
      choice.microbatches = shares_[share];
      visit(choice, number + share);
    }
    number += count;
  }
  return skipped;
}

std::vector<StateTerms> Branch::state_terms(const std::vector<std::vector<ChunkPlan>>& chunks,
                                            const StateChoice& choice) {
  std::vector<StateTerms> out;
  const auto classes = static_cast<std::size_t>(layout_->count());
  for (std::size_t place = 0; place < chunks.size() * classes; ++place) {
    out.push_back(state_terms_of(place, chunks[place / classes], choice));
  }
  return out;
}

// The bytes of a stage do not depend on which of its layers are recomputed. The order of its layers matters only if
// chunks are reduced part by part; at the ends of a chunk, only the size of the stream matters.
void Branch::append_contents(std::vector<int>& key, int stage, const std::vector<ChunkPlan>& chunks,
                             bool in_order) const {
  std::map<BlockId, int> counts;
  for (const ChunkPlan& chunk : chunks) {
    BlockId before = -1;
    for (const BlockRun& run : chunk.runs) {
      const BlockId block = kept_of_[static_cast<std::size_t>(run.block)];
      if (!in_order) {
        counts[block] += run.count;
      } else if (block == before) {
        key.back() += run.count;
      } else {
        key.insert(key.end(), {block, run.count});
      }
      before = block;
    }
    if (in_order) key.push_back(-1);
  }
  for (const auto& [block, count] : counts) key.insert(key.end(), {block, count});
  const ShardedBlocks& own = blocks(stage).blocks;
  const auto first_as_large = [&](BlockId block) {
    BlockId first = ShardedBlocks::kEmbedding;
    while (own.stream_bytes(first) != own.stream_bytes(block)) ++first;
    return first;
  };
  for (const ChunkPlan& chunk : chunks) {
    key.insert(key.end(), {first_as_large(chunk.entering), first_as_large(chunk.leaving)});
  }
}

StateTerms Branch::state_terms_of(std::size_t place, const std::vector<ChunkPlan>& chunks, const StateChoice& choice) {
  std::vector<int> key = {layout_->kind_of[place], choice.zero};
  // The time at which gradients are reduced decides if they are on the host before the step.
  const auto share = std::bit_cast<std::array<int, 2>>(choice.offload_optimizer);
  key.insert(key.end(), {share[0], share[1], choice.offload_optimizer > 0 && choice.overlap_grad_reduce ? 1 : 0});
  const int stage = stage_of(place);
  append_contents(key, stage, chunks, choice.zero >= 2);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = states_.find(key); known != states_.end()) return known->second;
  }
  Job job = job_at(stage);
  choice.apply_to(job.strategy);
  const StageContents contents(job, blocks(stage).blocks, stage, chunks);
  const StageCosts& costs = layout_->costs[place];
  StateTerms out;
  out.resident = resident_memory(job, blocks(stage).blocks, contents).total();
  out.step_workspace = step_workspace(job, contents);
  const HeldParameters held = contents.parameters.held();
  out.host = offloaded_bytes(job, held);
  if (job.strategy.replicas() > 1) {
    out.reduce = time_of(gradient_reduction(job, held), costs);
    if (data_parallel_plan(job).shards > 1) {
      constexpr double number = 4;
      out.norms = time_of({{"sum gradient norms", CollectiveKind::all_reduce, number, ReplicaGroup::shard}}, costs);
      out.gather = time_of(parameter_gather(job, contents.parameters, held), costs);
    }
  }
  const FoldedBody step = step_body(job, contents.parameters, costs);
  out.optimizer = step.device + step.lead;
  out.optimizer_energy_j = step.energy_j;
  const std::lock_guard lock(mutex_);
  return states_.emplace(std::move(key), out).first->second;
}

}  // namespace mirfak
