#include "energy/profiled_pipeline.hpp"

#include "base/error.hpp"
#include "program/program_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace mirfak {

namespace {

constexpr int kKinds = 4;  // kinds of passes
constexpr TaskId kNotYet = std::numeric_limits<TaskId>::max();

class PipelineWriter {
 public:
  PipelineWriter(const StageProfile& profile, const PipelineShape& shape, const Schedule& schedule, double blocked_w)
      : profile_(profile),
        shape_(shape),
        schedule_(schedule),
        placement_(schedule.placement(shape)),
        blocked_w_(blocked_w) {}

  ClockedProgram write() {
    out_.blocked_w = blocked_w_ * shape_.stages;
    for (int stage = 0; stage < shape_.stages; ++stage) add_stage(stage);
    emit_passes();
    out_.lasts = out_.program.duration;
    return std::move(out_);
  }

 private:
  // Returns the task that makes the activations after a part of the model, or the gradients before it.
  TaskId& done(bool forward, int part, int microbatch) {
    return done_[(static_cast<std::size_t>(forward ? 0 : 1) * static_cast<std::size_t>(placement_.parts()) +
                  static_cast<std::size_t>(part)) *
                     static_cast<std::size_t>(shape_.microbatches) +
                 static_cast<std::size_t>(microbatch)];
  }
  TaskId awaited(int part, const Pass& pass);

  void add_stage(int stage);
  void add_kind(int stage, int chunk, Pass::Kind kind);
  bool emit(int stage, const Pass& pass);
  void emit_passes();

  const StageProfile& profile_;
  const PipelineShape& shape_;
  const Schedule& schedule_;
  Placement placement_;
  double blocked_w_;
  ClockedProgram out_;
  std::vector<TaskId> done_;
};

// Returns the choices for a pass of one chunk, with the energy of waiting as long subtracted.
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
    for (int kind = 0; kind < kKinds; ++kind) add_kind(stage, chunk, static_cast<Pass::Kind>(kind));
  }
}

// Adds the class of one kind of pass, and its choices if the pass was measured.
void PipelineWriter::add_kind(int stage, int chunk, Pass::Kind kind) {
  const bool by_chunk = profile_.stages.size() != static_cast<std::size_t>(shape_.stages);
  const int row = by_chunk ? placement_.part_of(stage, chunk) : stage;
  const auto& measured = profile_.stages[static_cast<std::size_t>(row)][static_cast<std::size_t>(kind)];
  std::vector<ClockChoice> choices = share_of(measured, by_chunk ? 1 : shape_.chunks, blocked_w_);
  static constexpr std::array<const char*, kKinds> kNames = {"forward", "backward", "backward of inputs",
                                                             "backward of weights"};
  static constexpr std::array<TaskKind, kKinds> kTasks = {TaskKind::forward, TaskKind::backward, TaskKind::backward,
                                                          TaskKind::weight_gradient};
  std::sort(choices.begin(), choices.end(),
            [](const ClockChoice& a, const ClockChoice& b) { return a.clock_hz > b.clock_hz; });
  TaskClass pass;
  pass.kind = kTasks[static_cast<std::size_t>(kind)];
  pass.name = kNames[static_cast<std::size_t>(kind)];
  pass.stage = stage;
  pass.chunk = chunk;
  // A pass that was not measured has a class without tasks.
  out_.choices_of.push_back(choices.empty() ? -1 : static_cast<std::int32_t>(out_.choices.size()));
  if (!choices.empty()) {
    pass.energy_j = choices.front().energy_j;
    out_.choices.push_back(pass_choices(choices));
    out_.settings.push_back(std::move(choices));
  }
  out_.program.add_class(std::move(pass));
}

// Returns the task that brings a pass its input: a pass of the part before, of the part after, or, where a microbatch
// turns back, its own forward pass. kNotYet: the task has not been emitted.
TaskId PipelineWriter::awaited(int part, const Pass& pass) {
  if (is_forward(pass.kind)) return done(true, part - 1, pass.microbatch);
  const bool turns = part + 1 == placement_.parts();
  return turns ? done(true, part, pass.microbatch) : done(false, part + 1, pass.microbatch);
}

// Emits a pass. Returns false as long as its input from another stage has not been emitted.
bool PipelineWriter::emit(int stage, const Pass& pass) {
  const int part = placement_.part_of(stage, pass.chunk);
  const bool forward = is_forward(pass.kind);
  const bool waits = forward ? part > 0 : makes_input_gradient(pass.kind);
  const TaskId before = waits ? awaited(part, pass) : kNotYet;
  if (waits && before == kNotYet) return false;
  const auto of = static_cast<ClassId>((stage * shape_.chunks + pass.chunk) * kKinds + static_cast<int>(pass.kind));
  const std::int32_t choices = out_.choices_of[of];
  if (choices < 0) {
    fail_input({profile_.name, 1, 1},
               fmt::format("the profile has no row for the {} pass of stage {}, which {} runs",
                           out_.program.classes[of].name, stage, schedule_.name),
               "measure backward_input and backward_weight, the halves of a backward pass, each by itself");
  }
  const std::span<const TaskId> after(&before, waits ? 1 : 0);
  const TaskId task =
      out_.program.add_task(static_cast<StreamId>(stage), of,
                            out_.settings[static_cast<std::size_t>(choices)].front().duration, after, pass.microbatch);
  if (pass.kind != Pass::Kind::backward_weight) done(forward, part, pass.microbatch) = task;
  return true;
}

void PipelineWriter::emit_passes() {
  done_.assign(static_cast<std::size_t>(2 * placement_.parts()) * static_cast<std::size_t>(shape_.microbatches),
               kNotYet);
  const StageOrders orders = schedule_.orders_of(shape_);
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

ClockedProgram profiled_pipeline(const StageProfile& profile, const PipelineShape& shape, ScheduleId schedule,
                                 double blocked_w) {
  const auto stages = static_cast<std::size_t>(shape.stages);
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  if (profile.stages.size() != stages && profile.stages.size() != stages * chunks) {
    fail_input({profile.name, 1, 1},
               fmt::format("stages of the profile: {}, of the pipeline: {}{}", profile.stages.size(), stages,
                           chunks > 1 ? fmt::format(" of {} chunks", chunks) : std::string()),
               "choose --stages (and --chunks) so that they agree");
  }
  return PipelineWriter(profile, shape, schedule_of(schedule), blocked_w).write();
}

}  // namespace mirfak
