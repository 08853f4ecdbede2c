#include "plan/priced_branch.hpp"

#include "program/settled_clock.hpp"
#include "program/transfer_cost.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace mirfak {

namespace {

PassTerms terms_of(const BlockBodies& bodies, double energy_j) {
  PassTerms out;
  out.forward = bodies.folded_forward.device;
  out.backward = bodies.folded_backward.device;
  out.forward_kernels = bodies.folded_forward.kernels;
  out.backward_kernels = bodies.folded_backward.kernels;
  out.halves = bodies.folded_backward_input.device + bodies.folded_backward_weight.device;
  out.of_inputs = bodies.folded_backward_input.device;
  out.issue_forward = bodies.folded_forward.host;
  out.issue_backward = bodies.folded_backward.host;
  out.issue_halves = bodies.folded_backward_input.host + bodies.folded_backward_weight.host;
  out.energy_j = energy_j;
  return out;
}

// Returns KindTerms::host_outlasts. Blocks in a row hand work on to each other, so that nothing is said of them.
Picoseconds host_outlasts(const std::vector<BlockBodies>& bodies) {
  Picoseconds out = 0;
  for (const BlockBodies& block : bodies) {
    if (!block.forward_row.empty() || !block.backward_row.empty()) return std::numeric_limits<Picoseconds>::max();
    for (const FoldedBody* body :
         {&block.folded_forward, &block.folded_backward, &block.folded_backward_input, &block.folded_backward_weight}) {
      out = std::max(out, body->host - body->lead - body->device);
    }
  }
  return out;
}

// Returns true if chunks run the same blocks and exchange the same streams (state_key).
bool same_rows(const std::vector<ChunkPlan>& a, const std::vector<ChunkPlan>& b) {
  const auto same_run = [](const BlockRun& x, const BlockRun& y) { return x.block == y.block && x.count == y.count; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const ChunkPlan& x, const ChunkPlan& y) {
    return x.entering == y.entering && x.leaving == y.leaving &&
           std::equal(x.runs.begin(), x.runs.end(), y.runs.begin(), y.runs.end(), same_run);
  });
}

}  // namespace

PricedBranch::PricedBranch(ListedBranch branch, SharedBlocks& shared) : ListedBranch(std::move(branch)) {
  for (const Job& job : jobs_) sets_.push_back(shared.of(job));
  if (!shaped()) sets_.push_back(shared.of(job_));
  layers_ = layer_blocks(job_, blocks().blocks);
  kept_of_.resize(blocks().blocks.all.size());
  std::iota(kept_of_.begin(), kept_of_.end(), 0);
  for (const LayerBlocks& layer : layers_) kept_of_[static_cast<std::size_t>(layer.recomputed)] = layer.kept;
  const std::vector<ScheduleId> schedules = kinds_of_schedules();
  for (const std::size_t place : layout_->first_of_kind) settled_ranges_.push_back(settled_range(place, schedules));
  first_ = &at(0);
  price_transfers();
}

const PricedBranch::AtClock& PricedBranch::at(std::size_t clock) const {
  return *at_.get(clock, [&] { return std::make_shared<const AtClock>(terms_at(clock)); });
}

PricedBranch::AtClock PricedBranch::terms_at(std::size_t clock) const {
  AtClock out;
  for (std::size_t kind = 0; kind < settled_ranges_.size(); ++kind) {
    const std::size_t place = layout_->first_of_kind[kind];
    const SettledRange& settled = settled_ranges_[kind];
    const double limit = limit_at(place, clock);
    out.kinds.push_back(kind_terms(place, settled.highest, limit, least_energies(place, settled, limit)));
  }
  for (std::size_t place = 0; place < layout_->costs.size(); ++place) out.places.push_back(&out.kinds[kind_of(place)]);
  return out;
}

double PricedBranch::limit_at(std::size_t place, std::size_t clock) const {
  const NodeHardware& node = layout_->costs[place].hardware->hardware;
  return clock == 0 ? node.clock_limit() : clock_limit_at(node, energy_.lower[clock - 1]);
}

std::shared_ptr<const std::vector<BlockBodies>> PricedBranch::bodies_at(std::size_t place, double settled,
                                                                        double limit) const {
  const int stage = stage_of(place);
  BlockSet& set = blocks(stage);
  return set.bodies.price_at(job_at(stage), set.blocks, layout_->costs[place], settled, limit).bodies;
}

KindTerms PricedBranch::kind_terms(std::size_t place, double settled, double limit,
                                   std::span<const double> energies_j) const {
  const BlockSet& set = blocks(stage_of(place));
  KindTerms out;
  out.bodies = bodies_at(place, settled, limit);
  out.host_outlasts = host_outlasts(*out.bodies);
  const auto of = [&](BlockId block) { return terms_of(out.of(block), energies_j[static_cast<std::size_t>(block)]); };
  out.recomputed.emplace_back();
  out.kept.emplace_back();
  for (const LayerBlocks& layer : layers_) {
    (out.recomputed.emplace_back(out.recomputed.back())) += of(layer.recomputed);
    (out.kept.emplace_back(out.kept.back())) += of(layer.kept);
  }
  out.embedding = of(ShardedBlocks::kEmbedding);
  out.head = of(set.blocks.head_id());
  for (std::int64_t i = 0; i < job_.model.prediction_layers; ++i) {
    out.head += of(set.blocks.prediction_id());
    out.head += of(set.blocks.head_id());
  }
  // Passes that only go forward run where the head does.
  for (const ForwardOnlyPass& pass : set.blocks.forward_only) {
    out.head += of(pass.embedding);
    out.head += of(pass.head);
    for (const LayerBlocks& layer : layers_) out.head += of(set.blocks.layer_of(pass, layer.kept));
  }
  return out;
}

// The prices equal those that plan_stages() sets.
PlaceTerms PricedBranch::settled(const PipelineChoice& choice, const std::vector<std::vector<ChunkPlan>>& chunks,
                                 std::size_t clock) const {
  Job job = job_;
  choice.apply_to(job.strategy, layout_->classes);
  PlaceTerms out;
  for (std::size_t place = 0; place < layout_->costs.size(); ++place) {
    const int stage = stage_of(place);
    const StageCosts& costs = layout_->costs[place];
    BlockSet& set = blocks(stage);
    const Job& own = shaped() ? job_at(stage) : job;
    const LayerMix mix = layer_mix(set.blocks, chunks[static_cast<std::size_t>(stage)]);
    const double share = set.bodies.clock_at(own, set.blocks, mix, costs);
    out.push_back(&settled_.get({kind_of(place), share, clock}, [&] {
      const double limit = limit_at(place, clock);
      return kind_terms(place, share, limit, energies_at(place, share, limit));
    }));
  }
  return out;
}

// Returns the least energy of each block in both passes; 0 if energy is not asked for.
std::vector<double> PricedBranch::least_energies(std::size_t place, const SettledRange& settled, double limit) const {
  std::vector<double> out(blocks(stage_of(place)).blocks.all.size());
  if (!energy_.any) return out;
  const auto at_lowest = bodies_at(place, settled.lowest, limit);
  const auto at_highest = bodies_at(place, settled.highest, limit);
  for (std::size_t block = 0; block < out.size(); ++block) {
    out[block] = least_energy_between(layout_->costs[place].hardware->hardware, limit, settled.lowest, settled.highest,
                                      (*at_lowest)[block], (*at_highest)[block]);
  }
  return out;
}

// Returns the energy of each block in both passes at a clock that devices settle at; 0 if energy is not asked for.
std::vector<double> PricedBranch::energies_at(std::size_t place, double settled, double limit) const {
  const ShardedBlocks& all = blocks(stage_of(place)).blocks;
  std::vector<double> out(all.all.size());
  if (!energy_.any) return out;
  const auto bodies = bodies_at(place, settled, limit);
  for (std::size_t block = 0; block < out.size(); ++block) {
    const BlockBodies& of = (*bodies)[block];
    const double halves_j = of.folded_backward_input.energy_j + of.folded_backward_weight.energy_j;
    const double backward_j = of.folded_backward.energy_j;
    out[block] = of.folded_forward.energy_j + (all.halves ? std::min(backward_j, halves_j) : backward_j);
  }
  return out;
}

// A mix of layers settles no higher than the highest of the clocks at which each layer would settle alone. The mix may
// settle lower than all of them: a host that is late in one layer makes up for it in another. Devices wait otherwise
// where passes are split or paired.
PricedBranch::SettledRange PricedBranch::settled_range(std::size_t place, std::span<const ScheduleId> schedules) const {
  BlockSet& set = blocks(stage_of(place));
  const Job& own = job_at(stage_of(place));
  const auto splits_and_pairs = [](ScheduleId id) {
    const Schedule& schedule = schedule_of(id);
    return std::pair(schedule.splits, schedule.pairs);
  };
  std::set<BlockId> used;
  for (const LayerBlocks& layer : layers_) {
    used.insert(layer.kept);
    if (job_.strategy.recompute != Recompute::none) used.insert(layer.recomputed);
  }
  if (job_.model.prediction_layers > 0) used.insert(set.blocks.prediction_id());
  for (const ForwardOnlyPass& pass : set.blocks.forward_only) {
    for (const LayerBlocks& layer : layers_) used.insert(set.blocks.layer_of(pass, layer.kept));
  }
  SettledRange out;
  for (const ScheduleId schedule : schedules) {
    std::optional<Job> scheduled;
    if (splits_and_pairs(schedule) != splits_and_pairs(own.strategy.schedule)) {
      scheduled = own;
      scheduled->strategy.schedule = schedule;
    }
    for (const BlockId block : used) {
      const ClockBounds clock =
          set.bodies.clock_bounds_at(scheduled ? *scheduled : own, set.blocks, {{block, 1}}, layout_->costs[place]);
      out.lowest = std::min(out.lowest, clock.without_waiting);
      out.highest = std::max(out.highest, clock.highest);
    }
  }
  return out;
}

void PricedBranch::find_streams() {
  const auto as_large = [&](BlockId a, BlockId b) {
    return std::all_of(sets_.begin(), sets_.end(), [&](const std::shared_ptr<BlockSet>& set) {
      return set->blocks.stream_bytes(a) == set->blocks.stream_bytes(b);
    });
  };
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
void PricedBranch::price_transfers() {
  const int stages = job_.strategy.pipeline;
  find_streams();
  if (stages == 1) return;
  const bool around = !shaped();
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

PassTerms PricedBranch::passes(const KindTerms& kind, const LayerRange& layers, const RecomputedLayers& recomputed,
                               bool embedding, bool head) const {
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

// Terms of a place whose stage is as the stage before it are the same.
PricedBranch::Stages PricedBranch::stages_of(const std::vector<std::vector<ChunkPlan>>& chunks) const {
  Stages out{&chunks, {}};
  for (std::size_t place = 0; place < layout_->costs.size(); ++place) {
    const auto stage = static_cast<std::size_t>(stage_of(place));
    const auto before = place - static_cast<std::size_t>(layout_->count());
    const bool same = stage > 0 && kind_of(place) == kind_of(before) && same_rows(chunks[stage], chunks[stage - 1]);
    out.like.push_back(same ? out.like[before] : place);
  }
  return out;
}

const StateTerms& PricedBranch::state_terms_at(std::size_t place, Stages& stages, const StateChoice& choice) const {
  const int stage = stage_of(place);
  const std::vector<ChunkPlan>& own = (*stages.chunks)[static_cast<std::size_t>(stage)];
  std::vector<int> key = state_key(blocks(stage).blocks, kept_of_, own, choice);
  key.push_back(layout_->kind_of[place]);
  return states_.get(key, [&] {
    if (stages.jobs.empty()) stages.jobs = shaped() ? jobs_ : std::vector<Job>{job_};
    Job& job = stages.jobs[shape_of(stage)];
    choice.apply_to(job.strategy);
    return mirfak::state_terms(job, blocks(stage).blocks, stage, own, layout_->costs[place]);
  });
}

std::vector<StateTerms> PricedBranch::state_terms(Stages& stages, const StateChoice& choice) const {
  std::vector<StateTerms> out;
  for (std::size_t place = 0; place < stages.like.size(); ++place) {
    const std::size_t like = stages.like[place];
    out.push_back(like == place ? state_terms_at(place, stages, choice) : out[like]);
  }
  return out;
}

std::optional<IterationScore> PricedBranch::score(const Job& job,
                                                  const std::function<bool(const IterationScore&)>& hopeless) const {
  BlockSet& set = blocks();
  if (shaped()) return score_iteration(job, blocks_of(job), set.bodies, hopeless, {limit()});
  return score_iteration(job, set.blocks, set.bodies, hopeless, {limit(), set.memory, &set.replays});
}

// Returns the blocks of a strategy of the branch whose stages have shapes of their own. Blocks and their prices are
// shared; the rest belongs to the strategy.
ShardedBlocks PricedBranch::blocks_of(const Job& job) const {
  ShardedBlocks out = blocks().blocks;
  std::vector<std::shared_ptr<const ShapedStage>> shapes;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const std::size_t shape = shape_of(stage);
    const std::shared_ptr<BlockSet>& set = sets_[shape];
    if (shape == shapes.size()) {
      shapes.push_back(
          std::make_shared<const ShapedStage>(ShapedStage{job.at(stage), {set, &set->blocks}, {set, &set->bodies}}));
    }
    out.stages.push_back(shapes[shape]);
  }
  return out;
}

}  // namespace mirfak
