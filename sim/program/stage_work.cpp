#include "program/stage_work.hpp"

#include "program/optimizer_step.hpp"
#include "program/pass_parts.hpp"

namespace mirfak {

namespace {

// Kernels wait for multiprocessors that collectives hold.
BodyStep delay_step(double seconds) {
  BodyStep step;
  step.name = "slower beside collectives";
  step.activity = Activity::data_communication;
  step.device = to_picoseconds(seconds);
  return step;
}

// The steps of a block that are one body, in its order (price_block).
std::vector<const BlockStep*> steps_in(const PartitionedBlock& block, Pass::Kind kind) {
  std::vector<const BlockStep*> out;
  const auto add = [&](const std::vector<BlockStep>& steps) {
    for (const BlockStep& step : steps) out.push_back(&step);
  };
  if (kind == Pass::Kind::forward) {
    add(block.forward);
  } else {
    add(block.recompute);
    add(block.backward);
  }
  return out;
}

MeshAxisSet team_axes(const Strategy& strategy) {
  MeshAxisSet axes;
  if (strategy.tensor > 1) axes.insert(MeshAxis::tensor);
  if (strategy.context > 1) axes.insert(MeshAxis::context);
  return axes;
}

}  // namespace

StageWork::StageWork(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                     const StagePlan& plan, const LoweringOptions& options)
    : program_(program), groups_(groups), job_(job), blocks_(blocks), plan_(plan), options_(options) {
  for (int chunk = 0; chunk < static_cast<int>(plan.chunks.size()); ++chunk) {
    forward_.push_back(whole(chunk, Pass::Kind::forward));
    backward_.push_back(whole(chunk, Pass::Kind::backward));
    forward_parts_.push_back(split(chunk, Pass::Kind::forward));
    backward_parts_.push_back(split(chunk, Pass::Kind::backward));
  }
  optimizer_ = describe(optimizer_body(job, plan), TaskKind::optimizer, "optimizer step", -1);
  program.classes[optimizer_.task_class].work = traffic_work(optimizer_.folded.bytes);
  if (options.unfolded) optimizer_.meets = groups.over(team_axes(job.strategy));
}

const PassWork& StageWork::pass(const Pass& pass) const {
  return (pass.kind == Pass::Kind::forward ? forward_ : backward_)[static_cast<std::size_t>(pass.chunk)];
}

const std::vector<PartWork>& StageWork::parts(const Pass& pass) const {
  return (pass.kind == Pass::Kind::forward ? forward_parts_ : backward_parts_)[static_cast<std::size_t>(pass.chunk)];
}

PassWork StageWork::whole(int chunk, Pass::Kind kind) {
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  PassWork work = describe(plan_.folded(blocks, kind), kind, chunk);
  program_.classes[work.task_class].grouping = work.meets = meeting(chunk, kind, 0, blocks.blocks());
  work.host_first = plan_.pass_host;
  add_bodies(work, chunk, kind, 0, blocks.blocks());
  return work;
}

PassWork StageWork::describe(const FoldedBody& folded, Pass::Kind kind, int chunk) {
  const bool forward = kind == Pass::Kind::forward;
  return describe(folded, forward ? TaskKind::forward : TaskKind::backward, forward ? "forward" : "backward", chunk);
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
  host.issues = kind;
  host.activity_s[static_cast<std::size_t>(Activity::host)] = to_seconds(folded.host);
  PassWork work;
  work.folded = folded;
  work.task_class = program_.add_class(std::move(device));
  work.issue_class = program_.add_class(std::move(host));
  return work;
}

void StageWork::add_bodies(PassWork& work, int chunk, Pass::Kind kind, int first, int last) {
  if (!options_.operators) return;
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
  const Body& body = kind == Pass::Kind::backward ? bodies.backward : bodies.forward;
  return *(known = &describe_steps(body, &blocks_.of(block), steps_in(blocks_.of(block), kind)));
}

GroupingId StageWork::meeting(int chunk, Pass::Kind kind, int first, int last) {
  if (!options_.unfolded || options_.operators) return kAlone;
  const ChunkPlan& blocks = plan_.chunks[static_cast<std::size_t>(chunk)];
  MeshAxisSet axes;
  for (int i = first; i < last; ++i) {
    const BlockId block = blocks.block(kind == Pass::Kind::forward ? i : blocks.blocks() - 1 - i);
    const auto [known, is_new] = axes_by_block_.try_emplace({block, kind});
    for (const BlockStep* step : is_new ? steps_in(blocks_.of(block), kind) : std::vector<const BlockStep*>{}) {
      if (step->kind == BlockStep::Kind::collective) known->second.insert(step->over);
    }
    axes.insert(known->second);
  }
  return groups_.over(axes);
}

const PassWork::Steps& StageWork::describe_steps(const Body& body, const PartitionedBlock* block,
                                                 std::span<const BlockStep* const> of_block) {
  const KernelPrecision precision{job_.precision(), job_.product_precision()};
  PassWork::Steps steps;
  for (const BodyStep& step : body.steps) {
    const bool kernel = step.stream == StreamKind::compute;
    TaskClass described;
    described.kind = kernel ? TaskKind::kernel : TaskKind::collective;
    described.name = step.name;
    described.stage = plan_.stage;
    described.flop = step.flop;
    described.bytes = step.bytes;
    described.energy_j = step.energy_j;
    described.activity_s[static_cast<std::size_t>(step.activity)] = to_seconds(step.device);
    if (block == nullptr) {
      described.work = traffic_work(step.bytes);
    } else if (const BlockStep& own = *of_block[steps.size()]; kernel) {
      described.work = kernel_work(*block, own, precision);
    } else {
      described.work = CollectiveWork{own.collective, own.bytes, 1, job_.precision()};
      described.grouping = groups_.over(own.over);
    }
    steps.push_back({program_.add_class(std::move(described)), &step});
  }
  steps_.push_back(std::move(steps));
  return steps_.back();
}

std::vector<PartWork> StageWork::split(int chunk, Pass::Kind kind) {
  std::vector<PartWork> parts;
  for (const PassPart& piece : split_pass(job_, plan_.chunks[static_cast<std::size_t>(chunk)], kind)) {
    FoldedBody folded = plan_.folded_part(plan_.chunks[static_cast<std::size_t>(chunk)], kind, piece.first, piece.last);
    const Body* copies = nullptr;
    Body around = replica_copies(job_, plan_.costs, piece);
    const double kernels_s = to_seconds(folded.device + fold(around).device);
    const double lost_s = lost_to_collectives(job_, plan_.costs, plan_.parameters, piece, kernels_s);
    if (lost_s > 0) around.steps.push_back(delay_step(lost_s));
    if (!around.steps.empty()) {
      copies = &copies_.emplace_back(std::move(around));
      folded = in_a_row(folded, fold(*copies));
    }
    PassWork work = describe(folded, kind, chunk);
    program_.classes[work.task_class].grouping = work.meets = meeting(chunk, kind, piece.first, piece.last);
    if (piece.first == 0) work.host_first = plan_.pass_host;
    add_bodies(work, chunk, kind, piece.first, piece.last);
    if (options_.operators && copies != nullptr) work.bodies.push_back(&describe_steps(*copies, nullptr, {}));
    parts.push_back({std::move(work), piece.gathers, piece.reduces});
  }
  return parts;
}

}  // namespace mirfak
