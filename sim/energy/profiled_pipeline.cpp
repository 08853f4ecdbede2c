#include "energy/profiled_pipeline.hpp"

#include "base/error.hpp"
#include "program/program_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace mirfak {

namespace {

constexpr TaskId kNotYet = std::numeric_limits<TaskId>::max();

class PipelineWriter {
 public:
  PipelineWriter(const StageProfile& profile, const PipelineShape& shape, const Schedule& schedule, double blocked_w)
      : profile_(profile), shape_(shape), schedule_(schedule), blocked_w_(blocked_w) {}

  ClockedProgram write() {
    out_.blocked_w = blocked_w_ * shape_.stages;
    for (int stage = 0; stage < shape_.stages; ++stage) add_stage(stage);
    emit_passes();
    out_.lasts = out_.program.duration;
    return std::move(out_);
  }

 private:
  int places() const { return shape_.stages * shape_.chunks; }
  // Places in the order in which a microbatch goes through them forward.
  int place_of(int stage, const Pass& pass) const { return pass.chunk * shape_.stages + stage; }
  TaskId& done(Pass::Kind kind, int place, int microbatch) {
    return done_[(static_cast<std::size_t>(kind) * static_cast<std::size_t>(places()) +
                  static_cast<std::size_t>(place)) *
                     static_cast<std::size_t>(shape_.microbatches) +
                 static_cast<std::size_t>(microbatch)];
  }

  void add_stage(int stage);
  void add_kind(int stage, int chunk, Pass::Kind kind);
  bool emit(int stage, const Pass& pass);
  void emit_passes();

  const StageProfile& profile_;
  const PipelineShape& shape_;
  const Schedule& schedule_;
  double blocked_w_;
  ClockedProgram out_;
  std::vector<TaskId> done_;
};

// What a pass of a chunk may take, the energy of waiting as long subtracted.
std::vector<ClockChoice> share_of(const std::vector<ClockChoice>& measured, int chunks, double blocked_w) {
  std::vector<ClockChoice> out;
  for (ClockChoice choice : measured) {
    choice.energy_j -= blocked_w * to_seconds(choice.duration);
    choice.duration /= chunks;
    choice.energy_j /= chunks;
    out.push_back(choice);
  }
  return out;
}

void PipelineWriter::add_stage(int stage) {
  const auto rank = static_cast<std::uint32_t>(stage);
  out_.program.ranks.push_back({rank, rank, 0, 0, 0, 1});
  out_.program.add_stream(rank, StreamKind::compute);
  for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
    for (const Pass::Kind kind : {Pass::Kind::forward, Pass::Kind::backward}) add_kind(stage, chunk, kind);
  }
}

// The class and the choices of one kind of pass; both have the same index.
void PipelineWriter::add_kind(int stage, int chunk, Pass::Kind kind) {
  const bool by_chunk = profile_.stages.size() != static_cast<std::size_t>(shape_.stages);
  const int row = by_chunk ? chunk * shape_.stages + stage : stage;
  const auto& measured = profile_.stages[static_cast<std::size_t>(row)][static_cast<std::size_t>(kind)];
  std::vector<ClockChoice> choices = share_of(measured, by_chunk ? 1 : shape_.chunks, blocked_w_);
  const char* name = kind == Pass::Kind::forward ? "forward" : "backward";
  std::sort(choices.begin(), choices.end(),
            [](const ClockChoice& a, const ClockChoice& b) { return a.clock_hz > b.clock_hz; });
  out_.choices.push_back(pass_choices(choices));
  TaskClass pass;
  pass.kind = kind == Pass::Kind::forward ? TaskKind::forward : TaskKind::backward;
  pass.name = name;
  pass.stage = stage;
  pass.chunk = chunk;
  pass.energy_j = choices.front().energy_j;
  out_.settings.push_back(std::move(choices));
  out_.choices_of.push_back(static_cast<std::int32_t>(out_.choices.size() - 1));
  out_.program.add_class(std::move(pass));
}

// False while what the pass waits for on other stages has not been emitted.
bool PipelineWriter::emit(int stage, const Pass& pass) {
  const int place = place_of(stage, pass);
  const bool forward = pass.kind == Pass::Kind::forward;
  TaskId before = kNotYet;
  const bool waits = forward ? place > 0 : true;
  if (waits) {
    const bool turns = !forward && place + 1 == places();  // the last backward pass follows its own forward pass
    before = turns ? done(Pass::Kind::forward, place, pass.microbatch)
                   : done(pass.kind, place + (forward ? -1 : 1), pass.microbatch);
    if (before == kNotYet) return false;
  }
  const auto of = static_cast<ClassId>((stage * shape_.chunks + pass.chunk) * 2 + static_cast<int>(pass.kind));
  const std::span<const TaskId> after(&before, waits ? 1 : 0);
  done(pass.kind, place, pass.microbatch) = out_.program.add_task(
      static_cast<StreamId>(stage), of, out_.settings[of].front().duration, after, pass.microbatch);
  return true;
}

void PipelineWriter::emit_passes() {
  done_.assign(static_cast<std::size_t>(2 * places()) * static_cast<std::size_t>(shape_.microbatches), kNotYet);
  std::vector<std::vector<Pass>> orders;
  for (int stage = 0; stage < shape_.stages; ++stage) orders.push_back(schedule_.order(shape_, stage));
  std::vector<std::size_t> next(orders.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
      while (next[stage] < orders[stage].size() && emit(static_cast<int>(stage), orders[stage][next[stage]])) {
        ++next[stage];
        moved = true;
      }
    }
  }
  for (std::size_t stage = 0; stage < orders.size(); ++stage) {
    if (next[stage] < orders[stage].size()) {
      fail_infeasible({}, fmt::format("the schedule {} deadlocks on stage {}", schedule_.name, stage));
    }
  }
}

}  // namespace

ClockedProgram profiled_pipeline(const StageProfile& profile, const PipelineShape& shape, ScheduleKind schedule,
                                 double blocked_w) {
  const auto stages = static_cast<std::size_t>(shape.stages);
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  if (profile.stages.size() != stages && profile.stages.size() != stages * chunks) {
    fail_input({profile.name, 1, 1},
               fmt::format("the profile has {} stages, the pipeline {}{}", profile.stages.size(), stages,
                           chunks > 1 ? fmt::format(" of {} chunks", chunks) : std::string()),
               "choose --stages (and --chunks) so that they agree");
  }
  return PipelineWriter(profile, shape, schedule_of(schedule), blocked_w).write();
}

}  // namespace mirfak
