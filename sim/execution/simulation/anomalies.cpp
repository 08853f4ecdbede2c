#include "simulation/anomalies.hpp"

#include "base/units.hpp"
#include "program/data_parallel.hpp"
#include "program/job_layers.hpp"
#include "program/pass_parts.hpp"
#include "program/settled_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mirfak {

namespace {

using Gather = DataParallelPlan::Gather;
using Reduce = DataParallelPlan::Reduce;

// The clock of a stage's layers as it is, and the clock if nothing waited.
struct ClockRange {
  double now = 1;
  double without_waiting = 1;
};

ClockRange clocks_of(const Simulation& simulation, const StagePlan& plan) {
  const KernelModel& kernels = plan.costs.kernels;
  const double limit = kernels.clock_share() < kernels.settled_share() ? kernels.clock_share() : 1;
  const ShardedBlocks& blocks = simulation.blocks.at(plan.stage);
  StageCosts full = plan.costs;
  full.kernels.set_clock_share(1);
  const double held =
      clock_bounds(job_at(simulation.job, simulation.blocks, plan.stage), blocks, layer_mix(blocks, plan.chunks), full)
          .without_waiting;
  const double stretch = kernels.gpu().throttle.stretch;
  return {kernels.running_clock(), std::min({limit, held, kernels.clock_share()}) / stretch};
}

double seconds_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs) {
  double seconds = 0;
  for (const ReplicaCollective& collective : collectives) seconds += price(collective, costs).seconds;
  return seconds;
}

// The cost of one stage's overlapped collectives.
struct Overlap {
  double slower_s = 0;   // added time of kernels in parallel with them
  double buckets_s = 0;  // the collectives in buckets
  double whole_s = 0;    // the collectives without buckets
};

class OverlapOfStage {
 public:
  OverlapOfStage(const Simulation& simulation, const StagePlan& plan)
      : job_(job_at(simulation.job, simulation.blocks, plan.stage)), plan_(plan), replicas_(data_parallel_plan(job_)) {}

  Overlap cost() {
    const Schedule& schedule = schedule_of(job_.strategy.schedule);
    if (replicas_.reduce == Reduce::last_backward) {
      out_.whole_s += seconds_of(gradient_reduction(job_, plan_.parameters.held()), plan_.costs);
      add(schedule.splits ? Pass::Kind::backward_weight : Pass::Kind::backward);
      // A split schedule may run some backward passes whole.
      if (schedule.splits) add_slower(Pass::Kind::backward);
    }
    if (replicas_.gather == Gather::first_forward) {
      out_.whole_s += seconds_of(parameter_gather(job_, plan_.parameters, plan_.parameters.held()), plan_.costs);
      add(Pass::Kind::forward);
    }
    return out_;
  }

 private:
  void add(Pass::Kind kind) {
    add_slower(kind);
    for (const ChunkPlan& chunk : plan_.chunks) {
      for (const PassPart& part : split_pass(job_, chunk, kind)) {
        if (part.reduces.total() > 0) out_.buckets_s += seconds_of(gradient_reduction(job_, part.reduces), plan_.costs);
        if (part.gathers.total() > 0)
          out_.buckets_s += seconds_of(parameter_gather(job_, plan_.parameters, part.gathers), plan_.costs);
      }
    }
  }

  // Adds the time that cutting passes costs. If one of two paired passes is cut, it runs alone: the pair takes longer
  // by at most the forward pass.
  void add_slower(Pass::Kind kind) {
    for (int index = 0; index < static_cast<int>(plan_.chunks.size()); ++index) {
      const ChunkPlan& chunk = plan_.chunks[static_cast<std::size_t>(index)];
      const std::vector<PassPart> parts = split_pass(job_, chunk, kind);
      const std::vector<PartCollectives> collectives = collectives_of(job_, plan_.costs, plan_.parameters, parts);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const FoldedBody body = plan_.folded_part(chunk, kind, parts[i].first, parts[i].last);
        const double kernels_s = to_seconds(body.device + fold(replica_copies(job_, plan_.costs, parts[i])).device);
        out_.slower_s += lost_to_collectives(collectives_beside(replicas_, index, collectives, i), kernels_s);
      }
      if (!schedule_of(job_.strategy.schedule).pairs) continue;
      for (const ChunkPlan& other : plan_.chunks) {
        out_.slower_s +=
            to_seconds(plan_.folded(other, Pass::Kind::forward).device) / static_cast<double>(plan_.chunks.size());
      }
    }
  }

  const Job& job_;
  const StagePlan& plan_;
  DataParallelPlan replicas_;
  Overlap out_;
};

}  // namespace

double clock_bound(const Simulation& simulation) {
  if (simulation.job.cluster.shares_gpus()) return 1;
  double bound = 1;
  for (const StagePlan& plan : simulation.plans) {
    const ClockRange clocks = clocks_of(simulation, plan);
    bound = std::max(bound, clocks.now / clocks.without_waiting);
  }
  return bound;
}

double overlap_bound_s(const Simulation& simulation) {
  std::map<int, Overlap> stages;
  for (const StagePlan& plan : simulation.plans) {
    Overlap cost = OverlapOfStage(simulation, plan).cost();
    Overlap& most = stages[plan.stage];
    most.slower_s = std::max(most.slower_s, cost.slower_s);
    most.buckets_s = std::max(most.buckets_s, cost.buckets_s);
    most.whole_s = std::max(most.whole_s, cost.whole_s);
  }
  double slower_s = 0;
  double buckets_s = 0;
  double later_s = 0;
  for (const auto& [stage, cost] : stages) {
    slower_s += cost.slower_s;
    buckets_s += cost.buckets_s;
    later_s = std::max(later_s, cost.buckets_s - cost.whole_s);
  }
  const bool shares = buckets_s > 0 && simulation.program.shares_links();
  return slower_s + std::max(0.0, later_s) + (shares ? buckets_s : 0);
}

double order_bound(const Simulation& simulation) {
  const Strategy& strategy = simulation.job.strategy;
  const Schedule& schedule = schedule_of(strategy.schedule);
  double bound = 1;
  if (schedule.pairs) bound = 2;
  if (schedule.needs_times) {
    const double passes = microbatches(strategy, simulation.job.training);
    bound = std::max(bound, (passes + strategy.pipeline - 1) / passes);
  }
  return bound;
}

double recomputation_bound_bytes(const Simulation& simulation) {
  double bound = 0;
  for (int stage = 0; stage < simulation.job.strategy.pipeline; ++stage) {
    const Job& job = job_at(simulation.job, simulation.blocks, stage);
    if (job.strategy.recompute == Recompute::none) continue;
    const ShardedBlocks& blocks = simulation.blocks.at(stage);
    const DeviceMesh mesh = mesh_of(job.strategy);
    const std::vector<JobLayer> kinds = job_layers(job);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const auto memory_of = [&](const PartitionedBlock& block) {
        return block_memory(block, mesh, job.framework, blocks.halves);
      };
      const BlockMemory again = memory_of(blocks.of(blocks.layer_id(kind, true)));
      const BlockMemory kept = memory_of(shard_kept_layer(job, kinds[kind]));
      // A group of layers that run again holds its input and the gradient of its result in addition to the layer that
      // runs.
      const double group = job.strategy.recompute_layers > 1 ? 2 * again.kept : 0;
      bound =
          std::max({bound, group + std::max(again.backward, kept.forward) - kept.backward,
                    group + std::max(again.backward_input, blocks.halves ? kept.forward : 0) - kept.backward_input});
    }
  }
  return bound;
}

std::vector<std::string> anomalies_of(const Simulation& simulation) {
  constexpr double kNothing = 1e-6;
  std::vector<std::string> out;
  if (const double clock = clock_bound(simulation); clock > 1 + kNothing) {
    out.push_back(
        fmt::format("a faster host or network leaves devices less time to rest, so that their power limit lowers the "
                    "clock: the iteration can get longer by it, by {} at most",
                    format_percent(clock - 1)));
  }
  if (const double overlap_s = overlap_bound_s(simulation); overlap_s > kNothing * simulation.result.iteration_time_s) {
    out.push_back(
        fmt::format("collectives during passes are cut into buckets and hold multiprocessors: what overlapping them "
                    "costs is {} at most, and where less is hidden the iteration is longer",
                    format_seconds(overlap_s)));
  }
  if (const double order = order_bound(simulation); order > 1) {
    out.push_back(
        fmt::format("what runs next is chosen by how long it takes: faster hardware may lead to another order, at most "
                    "{:.3g} times as long",
                    order));
  }
  const bool communicates = simulation.result.exposed_communication_s > 0;
  if (communicates) {
    out.emplace_back(
        "NCCL chooses algorithms, protocols and channels by estimates of its own: more bandwidth or more ranks can "
        "lead to a slower one, or to one that holds more multiprocessors; the iteration is longer by what these "
        "collectives and the kernels at the same time are, at most");
  }
  if (const double bytes = recomputation_bound_bytes(simulation); bytes > 0) {
    out.push_back(
        fmt::format("a layer that runs again needs room for results on their way, {} at most: where little else is "
                    "kept, recomputation needs that much more memory",
                    format_bytes(bytes)));
  }
  return out;
}

namespace {

std::string lower_clock(const Simulation& before, const Simulation& after) {
  constexpr double kSame = 1e-9;
  for (std::size_t i = 0; i < std::min(before.plans.size(), after.plans.size()); ++i) {
    const double was = before.plans[i].costs.kernels.running_clock();
    const double is = after.plans[i].costs.kernels.running_clock();
    if (is >= was - kSame) continue;
    return fmt::format(
        "devices of stage {} wait less, and hold {:.2f} instead of {:.2f} % of their clock under their "
        "power limit",
        before.plans[i].stage, 100 * is, 100 * was);
  }
  return {};
}

bool same_orders(const Simulation& before, const Simulation& after) {
  if (before.plans.size() != after.plans.size() || before.program.size() != after.program.size()) return false;
  for (std::size_t i = 0; i < before.plans.size(); ++i) {
    const std::vector<Pass>& was = before.plans[i].order;
    const std::vector<Pass>& is = after.plans[i].order;
    const auto same = [](const Pass& a, const Pass& b) {
      return a.kind == b.kind && a.chunk == b.chunk && a.microbatch == b.microbatch;
    };
    if (!std::equal(was.begin(), was.end(), is.begin(), is.end(), same)) return false;
  }
  return true;
}

}  // namespace

std::string why_longer(const Simulation& before, const Simulation& after) {
  if (std::string clock = lower_clock(before, after); !clock.empty()) return clock;
  if (!same_orders(before, after)) return "passes or kernels run in another order, chosen by how long they take";
  for (TaskId task = 0; task < before.program.size(); ++task) {
    if (after.program.duration[task] <= before.program.duration[task]) continue;
    const TaskClass& of = after.program.class_of(task);
    const bool communicates = of.kind == TaskKind::collective || of.kind == TaskKind::transfer;
    if (communicates) return fmt::format("NCCL chooses another algorithm for \"{}\", which takes longer", of.name);
    if (schedule_of(before.job.strategy.schedule).pairs) {
      return fmt::format("kernels of passes at the same time run in another order, in which \"{}\" takes longer",
                         of.name);
    }
    return fmt::format(
        "NCCL chooses another algorithm or more channels for collectives in or next to \"{}\", which takes "
        "longer",
        of.name);
  }
  return before.program.shares_links() ? "messages that share links meet at other times" : "rounding to picoseconds";
}

}  // namespace mirfak
