#include "simulation/score.hpp"

#include "engine/event_engine.hpp"
#include "engine/sweep.hpp"
#include "program/lowering.hpp"
#include "program/memory.hpp"
#include "simulation/long_iteration.hpp"

namespace mirfak {

double energy_of_iteration(std::span<const StagePlan> plans, const Program& program, double iteration_time_s) {
  double energy_j = 0;
  for (TaskId task = 0; task < program.size(); ++task) {
    energy_j +=
        program.class_of(task).energy_j * program.ranks[program.streams[program.stream[task]].rank].multiplicity;
  }
  for (const StagePlan& plan : plans) {
    energy_j += plan.costs.hardware->hardware.gpu.blocked_w.value * plan.gpus() * iteration_time_s;
  }
  return energy_j;
}

std::vector<double> energy_of_plans(std::span<const StagePlan> plans, const Program& program, double iteration_time_s) {
  std::vector<double> energy_j;
  for (const StagePlan& plan : plans) {
    energy_j.push_back(plan.costs.hardware->hardware.gpu.blocked_w.value * plan.gpus() * iteration_time_s);
  }
  for (TaskId task = 0; task < program.size(); ++task) {
    const ProgramRank& rank = program.ranks[program.rank_of(task)];
    energy_j[rank.plan] += program.class_of(task).energy_j * rank.multiplicity;
  }
  return energy_j;
}

namespace {

// Returns a score with less energy than any order of summation gives: sums of 130 million tasks are that close.
IterationScore with_least_energy(IterationScore score) {
  score.energy_j *= 1 - 1e-7;
  return score;
}

// True if the room that an iteration leaves is known once it is scored: its order depends on times, or free pieces of
// memory count.
bool judges_memory(const Job& job, const MemoryLimit& limit) {
  const bool pieces = limit.is_of_probability && job.framework.memory.caching_allocator;
  return pieces || schedule_of(job.strategy.schedule).needs_times;
}

MemoryRoom room_of(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                   const MemoryAsked& asked) {
  std::vector<StageMemory> memory = account_memory(job, blocks, plans, asked.of_blocks);
  if (asked.limit.is_of_probability) add_reserves(job, blocks, plans, memory, asked.replays);
  return memory_room(memory, asked.limit);
}

// Scores an iteration by its simulation: one with so many microbatches that it is not executed whole, or one whose GPUs
// keep a floor of power, or that waits for other learners, which follow from times.
std::optional<IterationScore> score_simulated(const Job& job,
                                              const std::function<bool(const IterationScore&)>& hopeless,
                                              const MemoryLimit& limit) {
  const IterationResult result = simulate(job).result;
  IterationScore out{to_picoseconds(result.iteration_time_s), result.energy_j, {}};
  if (hopeless && hopeless(out)) return std::nullopt;
  if (judges_memory(job, limit)) out.room = room_of(result, limit);
  return out;
}

}  // namespace

MemoryRoom room_of(const IterationResult& result, const MemoryLimit& limit) {
  std::vector<StageMemory> memory;
  for (const StageResult& stage : result.stages) memory.push_back(stage.memory);
  return memory_room(memory, limit);
}

std::optional<IterationScore> score_iteration(const Job& job, const ShardedBlocks& blocks, BodyCache& bodies,
                                              const std::function<bool(const IterationScore&)>& hopeless,
                                              const MemoryAsked& memory) {
  const Facility& facility = job.cluster.facility();
  const bool joins = job.training.local_steps.any() || job.strategy.context_tokens > 0;
  if (is_long_iteration(job) || facility.power_floor || facility.staggered_replicas || joins) {
    return score_simulated(job, hopeless, memory.limit);
  }
  std::vector<StagePlan> plans = plan_stages(job, blocks, {}, bodies);
  LoweringOptions alone;
  alone.passes_alone = true;
  const bool cut = shares_links_in_passes(job, plans);
  alone.by_class = cut;  // the sweep knows no links, so that replicas of a class do not differ
  Program program = lower(job, blocks, plans, alone);
  MemoryRoom room;
  const auto score = [&](Picoseconds time) {
    return IterationScore{time, energy_of_iteration(plans, program, to_seconds(time)), room};
  };
  IterationScore out = score(Sweep().makespan(program));
  if (hopeless && hopeless(out)) return std::nullopt;
  if (judges_memory(job, memory.limit)) out.room = room = room_of(job, blocks, plans, memory);
  if (room.shortage > 0) return out;
  if (cut) {
    plans = plan_stages(job, blocks, {}, bodies.with_steps());
    LoweringOptions longest;
    longest.longest_steps = true;
    program = lower(job, blocks, plans, longest);
  }
  if (program.shares_links()) {
    out = score(execute_events(program).makespan);
  } else if (cut) {
    out = score(Sweep().makespan(program));
  }
  out.executed = true;
  if (!cut || (hopeless && hopeless(with_least_energy(out)))) return out;
  program = lower(job, blocks, plans);  // the energy is a sum in the order of the tasks of simulate()
  out.energy_j = score(out.time).energy_j;
  return out;
}

}  // namespace mirfak
