#include "program/stage_work.hpp"

#include "program/condensed_body.hpp"
#include "program/data_parallel.hpp"
#include "program/expert_room.hpp"
#include "program/offloaded_tensors.hpp"
#include "program/optimizer_step.hpp"
#include "program/pass_parts.hpp"
#include "program/quantization_of_job.hpp"
#include "program/slowed_plan.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Step in which no kernel runs.
BodyStep delay_step(const char* name, Activity activity, double seconds) {
  BodyStep step;
  step.name = name;
  step.activity = activity;
  step.device = to_picoseconds(seconds);
  return step;
}

// Step for the time that kernels wait for multiprocessors that collectives hold.
BodyStep slower_step(double seconds) {
  return delay_step("slower during collectives", Activity::data_communication, seconds);
}

// The steps of a block that make up one body, in the body's order (price_block).
std::vector<const BlockStep*> steps_in(const PartitionedBlock& block, Pass::Kind kind) {
  std::vector<const BlockStep*> out;
  const auto add = [&](const std::vector<BlockStep>& steps) {
    for (const BlockStep& step : steps) out.push_back(&step);
  };
  if (is_forward(kind)) {
    add(block.forward);
    return out;
  }
  if (makes_input_gradient(kind)) add(block.recompute);
  if (kind == Pass::Kind::backward) {
    add(block.backward);
    return out;
  }
  const std::vector<bool> of_weights = weight_steps(block);
  for (std::size_t i = 0; i < of_weights.size(); ++i) {
    if (of_weights[i] == (kind == Pass::Kind::backward_weight)) out.push_back(&block.backward[i]);
  }
  return out;
}

// The two blocks that run in parallel at one place of two passes; -1: that pass has ended.
std::pair<BlockId, BlockId> blocks_of_pair(const ChunkPlan& ahead, const ChunkPlan& back, int place) {
  return {place < ahead.blocks() ? ahead.block(place) : -1,
          place < back.blocks() ? back.block(back.blocks() - 1 - place) : -1};
}

MeshAxisSet team_axes(const Strategy& strategy) {
  MeshAxisSet axes;
  if (strategy.tensor > 1) axes.insert(MeshAxis::tensor);
  if (strategy.context > 1) axes.insert(context_axes(strategy));
  return axes;
}

}  // namespace

StageWork::StageWork(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                     const StagePlan& plan, const LoweringOptions& options, const SlowedPlan* slowed)
    : program_(program),
      groups_(groups),
      job_(job),
      blocks_(blocks),
      as_priced_(plan),
      plan_(slowed != nullptr ? slowed->plan : plan),
      factors_(slowed != nullptr ? &slowed->factors : nullptr),
      options_(options) {
  std::vector<Pass::Kind> kinds = {Pass::Kind::forward, Pass::Kind::backward};
  if (schedule_of(job.strategy.schedule).splits) {
    kinds.insert(kinds.end(), {Pass::Kind::backward_input, Pass::Kind::backward_weight});
  }
  for (int chunk = 0; chunk < static_cast<int>(plan.chunks.size()); ++chunk) {
    for (const Pass::Kind kind : kinds) {
      whole_[static_cast<std::size_t>(kind)].push_back(whole(chunk, kind));
    }
    for (const Pass::Kind kind : kinds) {
      parts_[static_cast<std::size_t>(kind)].push_back(split(chunk, kind));
    }
  }
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    if (!plan.order[i].with_next) continue;
    const Pass& second = plan.order[i + 1];
    const PairKey key{plan.order[i].chunk, second.chunk, second.kind};
    if (!pairs_.contains(key)) pairs_.emplace(key, make_pair(plan.order[i], second));
  }
  if (slowed == nullptr) describe_optimizer();
}

void StageWork::describe_optimizer() {
  const FoldedBody step = optimizer_body(job_, plan_);
  optimizer_ = describe(step, device_class(step, TaskKind::optimizer, "optimizer step", -1));
  program_.classes[optimizer_.task_class].work = traffic_work(optimizer_.folded.bytes);
  if (!options_.folded()) optimizer_.meets = groups_.over(team_axes(job_.strategy), job_.strategy);
}

ClassId StageWork::add_class(TaskClass of) {
  of.slowed = factors_ != nullptr;
  return program_.add_class(std::move(of));
}

const PassWork& StageWork::pass(const Pass& pass) const {
  return whole_[static_cast<std::size_t>(pass.kind)][static_cast<std::size_t>(pass.chunk)];
}

const std::vector<PartWork>& StageWork::parts(const Pass& pass) const {
  return parts_[static_cast<std::size_t>(pass.kind)][static_cast<std::size_t>(pass.chunk)];
}

void StageWork::set_durations(std::span<ClassPrice> prices) const {
  const auto add = [&](const PassWork& work) {
    if (work.bodies.empty()) prices[work.task_class].duration = work.folded.device;
    for (const PassWork::Steps* steps : work.bodies) {
      for (const PassWork::Step& step : *steps) prices[step.task_class].duration = step.step->device;
    }
  };
  for (const std::vector<PassWork>& of_kind : whole_) std::for_each(of_kind.begin(), of_kind.end(), add);
  for (const auto& of_kind : parts_) {
    for (const std::vector<PartWork>& parts : of_kind) {
      for (const PartWork& part : parts) add(part.pass);
    }
  }
  for (const auto& [key, pair] : pairs_) {
    add(pair.first);
    // In steps, the first pass has those of both.
    if (pair.first.bodies.empty()) add(pair.second);
  }
}

void StageWork::add_wait_for_copies(Body& around, int chunk, Pass::Kind kind) const {
  if (!is_forward(kind) && !makes_input_gradient(kind)) return;
  const ChunkPlan& blocks = as_priced_.chunks[static_cast<std::size_t>(chunk)];
  const double device_s = to_seconds(as_priced_.folded(blocks, kind).device);
  const double wait_s = wait_for_copies_s(job_, blocks_, blocks, plan_.costs.hardware->hardware, device_s);
  if (wait_s > 0) around.steps.push_back(delay_step("wait for copies of activations", Activity::host, wait_s));
  for (BodyStep& step : stash_steps(job_, blocks_, as_priced_, chunk, kind)) around.steps.push_back(std::move(step));
}

PassWork StageWork::whole(int chunk, Pass::Kind kind) {
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  FoldedBody folded = plan_.folded(blocks, kind);
  Body around;
  add_wait_for_copies(around, chunk, kind);
  if (factors_ != nullptr) around = slowed(std::move(around), *factors_);
  if (!around.steps.empty()) append(folded, fold(around));
  PassWork work = describe(folded, pass_class(folded, kind, chunk));
  if (!around.steps.empty()) work.around = &copies_.emplace_back(std::move(around));
  program_.classes[work.task_class].grouping = work.meets = meeting(chunk, kind, 0, blocks.blocks());
  work.host_first = plan_.pass_host;
  add_bodies(work, chunk, kind, 0, blocks.blocks());
  if (!work.bodies.empty() && work.around != nullptr) {
    work.bodies.push_back(&describe_steps(*work.around, {{PassOf{kind, chunk}, PassOf{}}, {}, {}}));
  }
  return work;
}

// Class of a whole pass or of part of a pass.
TaskClass StageWork::pass_class(const FoldedBody& folded, Pass::Kind kind, int chunk) const {
  switch (kind) {
    case Pass::Kind::forward:
      return device_class(folded, TaskKind::forward, "forward", chunk);
    case Pass::Kind::backward_input:
      return device_class(folded, TaskKind::backward, "backward of inputs", chunk);
    case Pass::Kind::backward_weight:
      return device_class(folded, TaskKind::weight_gradient, "backward of weights", chunk);
    case Pass::Kind::backward:
      break;
  }
  return device_class(folded, TaskKind::backward, "backward", chunk);
}

TaskClass StageWork::device_class(const FoldedBody& folded, TaskKind kind, const char* name, int chunk) const {
  TaskClass device;
  device.kind = kind;
  device.name = name;
  device.stage = plan_.stage;
  device.chunk = chunk;
  device.flop = folded.flop;
  device.bytes = folded.bytes;
  device.energy_j = folded.energy_j;
  device.activity_s = folded.activity_s;
  return device;
}

PassWork StageWork::describe(const FoldedBody& folded, TaskClass device) {
  TaskClass host;
  host.kind = TaskKind::issue;
  host.name = "issue " + device.name;
  host.stage = plan_.stage;
  host.chunk = device.chunk;
  host.issues = device.kind;
  host.activity_s[static_cast<std::size_t>(Activity::host)] = to_seconds(folded.host);
  PassWork work;
  work.folded = folded;
  work.task_class = add_class(std::move(device));
  if (folded.host_waits()) {
    TaskClass wait = host;
    wait.name = "wait in " + program_.classes[work.task_class].name;
    wait.activity_s = folded.activity_s;  // as long as the pass that the host waits for
    work.wait_class = add_class(std::move(wait));
  }
  if (options_.for_samples) work.lead_class = add_class(host);
  work.issue_class = add_class(std::move(host));
  if (!options_.for_samples) work.lead_class = work.issue_class;
  return work;
}

void StageWork::add_bodies(PassWork& work, int chunk, Pass::Kind kind, int first, int last) {
  if (options_.whole_passes() && work.folded.is_one_task()) return;
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  for (int i = first; i < last; ++i) {
    const RowPlace place = place_in_row(plan_, blocks, kind, first, last, i);
    work.bodies.push_back(&steps_of(blocks.in_pass(i, kind), kind, chunk, place));
  }
}

const PassWork::Steps& StageWork::steps_of(BlockId block, Pass::Kind kind, int chunk, RowPlace place) {
  const PassWork::Steps*& known = steps_by_block_[{block, kind, options_.operators ? -1 : chunk, index_of(place)}];
  if (known != nullptr) return *known;
  const BlockBodies& bodies = plan_.bodies_of(block);
  const PartitionedBlock& of = blocks_.of(block).part ? *blocks_.of(block).part : blocks_.of(block);
  const std::vector<StepOf> steps = steps_of(of, steps_in(of, kind));
  Origins origins{{PassOf{kind, chunk}, PassOf{}}, steps, {}};
  if (const RowBodies& row = row_of(bodies, kind); !row.empty()) {
    origins.steps.clear();
    for (const PairedBody::Origin& origin : row.placed(place).steps.origins) {
      origins.steps.push_back(steps[static_cast<std::size_t>(origin.step)]);
    }
  }
  return *(known = &describe_steps(body_of(bodies, kind, place), origins));
}

std::vector<StageWork::StepOf> StageWork::steps_of(const PartitionedBlock& block,
                                                   const std::vector<const BlockStep*>& steps) {
  std::vector<StepOf> out;
  for (const BlockStep* step : steps) out.push_back({&block, step});
  return out;
}

std::vector<FoldedPass> StageWork::folded_passes() const {
  std::vector<FoldedPass> out;
  const auto add = [&](const PassWork& work, Pass::Kind kind, int chunk, int first, int last, const Body* around) {
    if (!work.bodies.empty()) return;
    out.push_back({kind,
                   chunk,
                   first,
                   last,
                   around != nullptr ? *around : Body{},
                   work.meets,
                   {work.lead_class, work.issue_class, work.task_class, work.wait_class}});
  };
  for (std::size_t of = 0; of < whole_.size(); ++of) {
    const auto kind = static_cast<Pass::Kind>(of);
    for (std::size_t at = 0; at < whole_[of].size(); ++at) {
      const auto chunk = static_cast<int>(at);
      add(whole_[of][at], kind, chunk, 0, plan_.chunks[at].blocks(), whole_[of][at].around);
      for (const PartWork& part : parts_[of][at]) add(part.pass, kind, chunk, part.first, part.last, part.around);
    }
  }
  return out;
}

const StageWork::PairWork& StageWork::pair(const Pass& forward, const Pass& backward) const {
  return pairs_.at({forward.chunk, backward.chunk, backward.kind});
}

// Steps of a backward pass during which no forward pass runs. Megatron-LM recomputes a chunk before its backward pass,
// with its exchanges in the open (model_chunk_schedule_plan.py, recompute_model_chunk_schedule_plan); DualPipe's
// overlap is of whole passes.
std::size_t StageWork::recomputed_alone(const PartitionedBlock& block, Pass::Kind kind) const {
  const bool combined = schedule_of(job_.strategy.schedule).in_groups;
  return combined && makes_input_gradient(kind) ? block.recompute.size() : 0;
}

// Pairs block by block: the first block of the forward pass with the first of the backward pass, which is the last of
// its chunk.
StageWork::PairWork StageWork::make_pair(const Pass& forward, const Pass& backward) {
  const ChunkPlan& ahead = plan_.chunks[static_cast<std::size_t>(forward.chunk)];
  const ChunkPlan& back = plan_.chunks[static_cast<std::size_t>(backward.chunk)];
  FoldedBody whole;
  whole.host = whole.lead = 2 * plan_.pass_host;
  std::vector<PairedBody> paired;
  const Body none;
  for (int i = 0; i < std::max(ahead.blocks(), back.blocks()); ++i) {
    const auto [first, second] = blocks_of_pair(ahead, back, i);
    paired.push_back(pair_bodies(first < 0 ? none : as_priced_.bodies_of(first).forward,
                                 second < 0 ? none : body_of(as_priced_.bodies_of(second), backward.kind), 0,
                                 second < 0 ? 0 : recomputed_alone(blocks_.of(second), backward.kind)));
    if (factors_ != nullptr) paired.back().body = slowed(std::move(paired.back().body), *factors_);
    append(whole, fold(paired.back().body));
  }
  // Each pass has its share of the time; the host's work is that of both passes.
  const double share = static_cast<double>(plan_.folded(ahead, forward.kind).device);
  const double other = static_cast<double>(plan_.folded(back, backward.kind).device);
  FoldedBody of_first = whole;
  of_first.device =
      share + other > 0 ? static_cast<Picoseconds>(static_cast<double>(whole.device) * share / (share + other)) : 0;
  FoldedBody of_second = whole;
  of_second.device = whole.device - of_first.device;
  const double part = whole.device > 0 ? static_cast<double>(of_first.device) / static_cast<double>(whole.device) : 1;
  of_first.flop = plan_.folded(ahead, forward.kind).flop;
  of_second.flop = whole.flop - of_first.flop;
  of_first.bytes = plan_.folded(ahead, forward.kind).bytes;
  of_second.bytes = whole.bytes - of_first.bytes;
  of_first.energy_j = plan_.folded(ahead, forward.kind).energy_j;
  of_second.energy_j = whole.energy_j - of_first.energy_j;
  for (std::size_t i = 0; i < kActivities; ++i) {
    of_first.activity_s[i] = part * whole.activity_s[i];
    of_second.activity_s[i] = whole.activity_s[i] - of_first.activity_s[i];
  }
  PairWork out{describe(of_first, pass_class(of_first, forward.kind, forward.chunk)),
               describe(of_second, pass_class(of_second, backward.kind, backward.chunk))};
  if (!options_.folded() && options_.whole_passes()) {
    MeshAxisSet axes = axes_of(forward.chunk, forward.kind, 0, ahead.blocks());
    axes.insert(axes_of(backward.chunk, backward.kind, 0, back.blocks()));
    for (PassWork* work : {&out.first, &out.second}) {
      program_.classes[work->task_class].grouping = work->meets = groups_.over(axes, job_.strategy);
    }
  }
  out.first.host_first = out.second.host_first = plan_.pass_host;
  if (!options_.whole_passes() || !whole.is_one_task()) {
    for (std::size_t i = 0; i < paired.size(); ++i) {
      const auto [first, second] = blocks_of_pair(ahead, back, static_cast<int>(i));
      out.first.bodies.push_back(&pair_steps(paired[i], first, forward, second, backward));
    }
  }
  return out;
}

const PassWork::Steps& StageWork::pair_steps(const PairedBody& paired, BlockId ahead, const Pass& forward, BlockId back,
                                             const Pass& backward) {
  const auto of = [&](BlockId block, Pass::Kind half) {
    return block < 0 ? std::vector<StepOf>{} : steps_of(blocks_.of(block), steps_in(blocks_.of(block), half));
  };
  const std::vector<StepOf> of_forward = of(ahead, Pass::Kind::forward);
  const std::vector<StepOf> of_backward = of(back, backward.kind);
  Origins origins;
  origins.passes = {PassOf{forward.kind, forward.chunk}, PassOf{backward.kind, backward.chunk}};
  for (const PairedBody::Origin& origin : paired.origins) {
    origins.steps.push_back((origin.backward ? of_backward : of_forward)[static_cast<std::size_t>(origin.step)]);
    origins.of_second.push_back(origin.backward);
  }
  paired_.push_back(paired.body);
  return describe_steps(paired_.back(), origins);
}

GroupingId StageWork::meeting(int chunk, Pass::Kind kind, int first, int last) {
  if (options_.folded() || !options_.whole_passes()) return kAlone;
  return groups_.over(axes_of(chunk, kind, first, last), job_.strategy);
}

MeshAxisSet StageWork::axes_of(int chunk, Pass::Kind kind, int first, int last) {
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  MeshAxisSet axes;
  for (int i = first; i < last; ++i) {
    const BlockId block = blocks.in_pass(i, kind);
    const auto [known, is_new] = axes_by_block_.try_emplace({block, kind});
    for (const BlockStep* step : is_new ? steps_in(blocks_.of(block), kind) : std::vector<const BlockStep*>{}) {
      if (step->kind == BlockStep::Kind::collective) known->second.insert(step->over);
    }
    axes.insert(known->second);
  }
  return axes;
}

TaskClass StageWork::describe_step(const BodyStep& step, const StepOf& of) {
  const bool kernel = step.stream == StreamKind::compute;
  TaskClass described;
  described.kind = kernel ? TaskKind::kernel : TaskKind::collective;
  described.name = step.name;
  described.stage = plan_.stage;
  described.flop = step.flop;
  described.bytes = step.bytes;
  described.energy_j = step.energy_j;
  described.activity_s[static_cast<std::size_t>(step.activity)] = to_seconds(step.device);
  if (of.block == nullptr) {
    described.work = traffic_work(step.bytes);
  } else if (kernel) {
    described.work = kernel_work(*of.block, *of.step, kernel_precision(job_));
  } else {
    described.work = CollectiveWork{of.step->collective, of.step->bytes, 1, job_.precision()};
    described.grouping = groups_.over(of.step->over, job_.strategy);
    if (!options_.passes_alone) {
      described.flows = step.flows;
      described.network_bytes_per_s = step.network_bytes_per_s;
    }
  }
  return described;
}

const PassWork::Steps& StageWork::describe_steps(const Body& body, const Origins& origins) {
  if (!options_.operators) return steps_.emplace_back(describe_runs(body, origins));
  PassWork::Steps steps;
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const BodyStep& step = body.steps[i];
    steps.push_back({add_class(describe_step(step, origins.step(i))), &step, origins.second(i)});
  }
  return steps_.emplace_back(std::move(steps));
}

// Returns which collectives of a body take as long whatever others do, for longest_steps: where a rank stands for all
// that it exchanges data with, and no factors of ranks are drawn, those that use no network.
std::vector<bool> StageWork::quiet_in(const Body& body) const {
  std::vector<bool> out;
  if (!options_.longest_steps || !options_.folded() || options_.for_samples || factors_ != nullptr) return out;
  for (const BodyStep& step : body.steps) {
    out.push_back(step.stream != StreamKind::compute && step.flows == FlowPattern::none);
  }
  return out;
}

PassWork::Steps StageWork::describe_runs(const Body& body, const Origins& origins) {
  CondensedBody runs = condensed(body, origins.of_second, quiet_in(body));
  condensed_.push_back(std::move(runs.body));
  PassWork::Steps steps;
  for (std::size_t i = 0; i < runs.runs.size(); ++i) {
    const BodyStep& step = condensed_.back().steps[i];
    const CondensedBody::Run& run = runs.runs[i];
    const bool second = origins.second(run.first);
    const PassOf& pass = origins.passes[second ? 1 : 0];
    ClassId task_class = 0;
    if (step.stream == StreamKind::compute) {
      task_class = add_class(pass_class(run.folded, pass.kind, pass.chunk));
    } else {
      TaskClass described = describe_step(step, origins.step(run.first));
      described.chunk = pass.chunk;
      task_class = add_class(std::move(described));
    }
    steps.push_back({task_class, &step, second});
  }
  return steps;
}

std::vector<PartWork> StageWork::split(int chunk, Pass::Kind kind) {
  std::vector<PartWork> parts;
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  const std::vector<PassPart> pieces = split_pass(job_, blocks, kind);
  const DataParallelPlan replicas = data_parallel_plan(job_);
  const std::vector<PartCollectives> collectives = collectives_of(job_, plan_.costs, plan_.parameters, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PassPart& piece = pieces[i];
    FoldedBody folded = plan_.folded_part(blocks, kind, piece.first, piece.last);
    const Body* copies = nullptr;
    Body around = replica_copies(job_, plan_.costs, piece);
    const Picoseconds priced_device =
        factors_ == nullptr ? folded.device : as_priced_.folded_part(blocks, kind, piece.first, piece.last).device;
    const double kernels_s = to_seconds(priced_device + fold(around).device);
    const double lost_s = lost_to_collectives(collectives_beside(replicas, chunk, collectives, i), kernels_s);
    if (lost_s > 0) around.steps.push_back(slower_step(lost_s));
    if (i + 1 == pieces.size()) add_wait_for_copies(around, chunk, kind);
    if (factors_ != nullptr) around = slowed(std::move(around), *factors_);
    if (!around.steps.empty()) {
      copies = &copies_.emplace_back(std::move(around));
      append(folded, fold(*copies));
    }
    PassWork work = describe(folded, pass_class(folded, kind, chunk));
    program_.classes[work.task_class].grouping = work.meets = meeting(chunk, kind, piece.first, piece.last);
    if (piece.first == 0) work.host_first = plan_.pass_host;
    add_bodies(work, chunk, kind, piece.first, piece.last);
    if (!options_.whole_passes() && copies != nullptr) {
      work.bodies.push_back(&describe_steps(*copies, {{PassOf{kind, chunk}, PassOf{}}, {}, {}}));
    }
    parts.push_back({std::move(work), piece.gathers, piece.reduces, piece.parts, piece.first, piece.last, copies});
  }
  return parts;
}

}  // namespace mirfak
