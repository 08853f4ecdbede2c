#include "program/stage_work.hpp"

#include "program/optimizer_step.hpp"
#include "program/pass_parts.hpp"

namespace mirfak {

StageWork::StageWork(Program& program, const Job& job, const StagePlan& plan, bool operators)
    : program_(program), job_(job), plan_(plan), operators_(operators) {
  for (int chunk = 0; chunk < static_cast<int>(plan.chunks.size()); ++chunk) {
    const int blocks = plan.chunks[static_cast<std::size_t>(chunk)].blocks();
    forward_.push_back(part(chunk, Pass::Kind::forward, 0, blocks));
    backward_.push_back(part(chunk, Pass::Kind::backward, 0, blocks));
    forward_parts_.push_back(split(chunk, Pass::Kind::forward));
    backward_parts_.push_back(split(chunk, Pass::Kind::backward));
  }
  optimizer_ = describe(optimizer_body(job, plan), TaskKind::optimizer, "optimizer step", -1);
}

const PassWork& StageWork::pass(const Pass& pass) const {
  return (pass.kind == Pass::Kind::forward ? forward_ : backward_)[static_cast<std::size_t>(pass.chunk)];
}

const std::vector<PartWork>& StageWork::parts(const Pass& pass) const {
  return (pass.kind == Pass::Kind::forward ? forward_parts_ : backward_parts_)[static_cast<std::size_t>(pass.chunk)];
}

PassWork StageWork::part(int chunk, Pass::Kind kind, int first, int last) {
  const bool forward = kind == Pass::Kind::forward;
  PassWork work = describe(plan_.folded_part(plan_.chunks[static_cast<std::size_t>(chunk)], kind, first, last),
                           forward ? TaskKind::forward : TaskKind::backward, forward ? "forward" : "backward", chunk);
  add_bodies(work, chunk, kind, first, last);
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

std::vector<PartWork> StageWork::split(int chunk, Pass::Kind kind) {
  std::vector<PartWork> parts;
  for (const PassPart& piece : split_pass(job_, plan_.chunks[static_cast<std::size_t>(chunk)], kind)) {
    parts.push_back({part(chunk, kind, piece.first, piece.last), piece.gathers, piece.reduces});
  }
  return parts;
}

}  // namespace mirfak
