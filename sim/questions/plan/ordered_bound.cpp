#include "plan/ordered_bound.hpp"

#include "plan/cut_passes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

using Gather = DataParallelPlan::Gather;
using Reduce = DataParallelPlan::Reduce;

// The arrival of what a pass waits for.
struct Input {
  Picoseconds arrived = 0;
  bool from_other_stage = false;
};

// One stage's device, host and stream of collectives, with the passes that it has run so far.
class StageInOrder {
 public:
  // All arguments must outlive this.
  StageInOrder(const StagePasses& passes, const CutStage& cut, const std::vector<Pass>& order)
      : passes_(passes),
        chunks_(cut.chunks),
        plan_(cut.plan),
        order_(order),
        began_(chunks_.size(), 0),
        weights_left_(chunks_.size(), 0) {
    for (const Pass& pass : order) weights_left_[chunk_of(pass)] += makes_weight_gradient(pass.kind) ? 1 : 0;
  }

  bool done() const { return next_ == order_.size(); }
  const Pass& next() const { return order_[next_]; }
  // Runs the next pass. Returns the end of the pass.
  Picoseconds run(const Input& input);
  Picoseconds passes_end() const { return end_; }
  Picoseconds collectives_end() const { return collectives_; }

 private:
  static std::size_t chunk_of(const Pass& pass) { return static_cast<std::size_t>(pass.chunk); }
  Picoseconds length(const Pass& pass) const;
  void issue(const Pass& pass, const Input& input);
  void gather(std::size_t chunk, Picoseconds start);
  void reduce(const Pass& pass, Picoseconds start);

  const StagePasses& passes_;
  const std::vector<CutChunk>& chunks_;
  const DataParallelPlan& plan_;
  const std::vector<Pass>& order_;
  std::vector<char> began_;        // by chunk: it has run a forward pass
  std::vector<int> weights_left_;  // by chunk: passes that make gradients of its weights
  std::size_t next_ = 0;
  Picoseconds end_ = 0;
  Picoseconds host_ = 0;
  Picoseconds collectives_ = 0;
};

Picoseconds StageInOrder::length(const Pass& pass) const {
  const PassTerms& of = passes_.chunks[chunk_of(pass)];
  switch (pass.kind) {
    case Pass::Kind::forward:
      return of.forward;
    case Pass::Kind::backward_input:
      return of.of_inputs;
    case Pass::Kind::backward_weight:
      return of.halves - of.of_inputs;
    case Pass::Kind::backward:
      break;
  }
  return of.backward;
}

// Adds the host's work on a pass; of two halves, all of it is that of the second.
void StageInOrder::issue(const Pass& pass, const Input& input) {
  const PassTerms& of = passes_.chunks[chunk_of(pass)];
  if (passes_.host_waits && input.from_other_stage) host_ = std::max(host_, input.arrived);
  if (pass.kind == Pass::Kind::forward) host_ += of.issue_forward;
  if (pass.kind == Pass::Kind::backward) host_ += of.issue_backward;
  if (pass.kind == Pass::Kind::backward_weight) host_ += of.issue_halves;
}

// Adds the gathers of a forward pass that begins at `start`. If they overlap with the chunk's first pass, its first
// part waits for the first gather and its last part for the last.
void StageInOrder::gather(std::size_t chunk, Picoseconds start) {
  const CutPass& cut = chunks_[chunk].forward;
  const bool first = std::exchange(began_[chunk], 1) == 0 && plan_.gather == Gather::first_forward;
  if (!first && !plan_.gathers_in_passes()) return;
  end_ += cut.longer;
  const Picoseconds length = end_ - start;
  if (first) end_ = std::max(end_, collectives_ + cut.first_gather + length);
  collectives_ += cut.gather;
  if (first) end_ = std::max(end_, collectives_);
}

// Adds the collectives of a pass that makes gradients of weights and begins at `start`.
void StageInOrder::reduce(const Pass& pass, Picoseconds start) {
  const CutChunk& chunk = chunks_[chunk_of(pass)];
  const CutPass& cut = pass.kind == Pass::Kind::backward ? chunk.backward : chunk.weights;
  const bool last = --weights_left_[chunk_of(pass)] == 0;
  if (plan_.gathers_in_passes()) collectives_ += cut.gather;
  if (plan_.reduce == Reduce::every_backward) {
    end_ += cut.longer;
    collectives_ += cut.reduce;
  } else if (last && plan_.reduce == Reduce::last_backward) {
    end_ += cut.longer;
    collectives_ = std::max(std::max(collectives_, start) + cut.reduce, end_ + cut.last_reduce);
  }
}

Picoseconds StageInOrder::run(const Input& input) {
  const Pass& pass = order_[next_++];
  const Picoseconds start = std::max(end_, input.arrived);
  end_ = start + length(pass);
  issue(pass, input);
  if (is_forward(pass.kind)) {
    gather(chunk_of(pass), start);
  } else if (makes_weight_gradient(pass.kind)) {
    reduce(pass, start);
  }
  end_ = std::max(end_, passes_.issued_in(host_));
  return end_;
}

// All stages of one class of replicas. Passes are run as soon as those that make their inputs have been.
class PipelineInOrder {
 public:
  // `sends_gradients`: passes wait for the gradients of the part after theirs.
  PipelineInOrder(const Placement& placement, const std::vector<StagePasses>& passes, std::vector<StageInOrder>& stages,
                  int microbatches, bool sends_gradients)
      : placement_(placement),
        passes_(passes),
        stages_(stages),
        microbatches_(microbatches),
        sends_gradients_(sends_gradients) {
    const auto slots = static_cast<std::size_t>(placement.parts()) * static_cast<std::size_t>(microbatches);
    for (auto& made : made_) made.assign(slots, kNotYet);
  }

  void run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        while (run_next(static_cast<int>(stage), stages_[stage])) progress = true;
      }
    }
  }

 private:
  static constexpr Picoseconds kNotYet = -1;

  Picoseconds& made(bool forward, int part, int microbatch) {
    const auto slot =
        static_cast<std::size_t>(part) * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch);
    return made_[forward ? 0 : 1][slot];
  }

  // Returns the input of a pass; nothing if it has not been made yet.
  std::optional<Input> input_of(int stage, const Pass& pass) {
    const bool forward = is_forward(pass.kind);
    if (!forward && (!makes_input_gradient(pass.kind) || !sends_gradients_)) return Input{};
    const int part = placement_.part_of(stage, pass.chunk) + (forward ? -1 : 1);
    if (part < 0 || part == placement_.parts()) return Input{};
    const Picoseconds end = made(forward, part, pass.microbatch);
    if (end == kNotYet) return std::nullopt;
    const int from = placement_.place_of(part, pass.microbatch).stage;
    if (from == stage) return Input{end, false};
    if (!placement_.is_looped()) return Input{end, true};
    const StagePasses& sender = passes_[static_cast<std::size_t>(from)];
    return Input{end + (forward ? sender.on : sender.back), true};
  }

  bool run_next(int stage, StageInOrder& on) {
    if (on.done()) return false;
    const Pass pass = on.next();
    const std::optional<Input> input = input_of(stage, pass);
    if (!input) return false;
    const Picoseconds end = on.run(*input);
    const bool forward = is_forward(pass.kind);
    if (forward || makes_input_gradient(pass.kind)) {
      made(forward, placement_.part_of(stage, pass.chunk), pass.microbatch) = end;
    }
    return true;
  }

  const Placement& placement_;
  const std::vector<StagePasses>& passes_;
  std::vector<StageInOrder>& stages_;
  int microbatches_;
  bool sends_gradients_;
  std::array<std::vector<Picoseconds>, 2> made_;  // ends of passes forward and backward, by part and microbatch
};

// Raises the ends of the stages of one class of replicas.
void follow_order_of(const PricedBranch& branch, const PipelineChoice& choice, CutStages& cut, int own,
                     const PlaceTerms& terms, PipelineBound& bound) {
  const PipelineShape shape = branch.shape(choice, own);
  const StageOrders orders = schedule_of(choice.schedule).orders_of(shape);
  const std::vector<StagePasses> passes = stage_passes(branch, choice, own, terms);
  std::vector<StageInOrder> stages;
  for (int stage = 0; stage < shape.stages; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    stages.emplace_back(passes[index], cut.stage(stage), orders[index]);
  }
  const Placement placement = choice.placement ? *choice.placement : Placement::looped(shape.stages, shape.chunks);
  const bool sends_gradients = !branch.job().training.frozen.any();
  PipelineInOrder(placement, passes, stages, shape.microbatches, sends_gradients).run();
  for (int stage = 0; stage < shape.stages; ++stage) {
    const StageInOrder& ran = stages[static_cast<std::size_t>(stage)];
    Picoseconds& end = bound.end[branch.layout().place(stage, own)];
    end = std::max({end, ran.passes_end(), ran.collectives_end()});
  }
}

}  // namespace

void follow_order(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state,
                  const std::vector<std::vector<ChunkPlan>>& chunks, const PlaceTerms& terms, PipelineBound& bound) {
  const Schedule& schedule = schedule_of(choice.schedule);
  if (schedule.pairs || schedule.needs_times) return;
  for (int own = 0; own < branch.layout().count(); ++own) {
    const PipelineShape shape = branch.shape(choice, own);
    constexpr double kMaxPasses = 1e6;  // an iteration with more passes is executed in part
    if (3.0 * shape.stages * shape.chunks * shape.microbatches > kMaxPasses) return;
    CutStages cut(branch, choice, state, own, chunks, terms);
    follow_order_of(branch, choice, cut, own, terms, bound);
  }
  bound.last = *std::max_element(bound.end.begin(), bound.end.end());
}

}  // namespace mirfak
