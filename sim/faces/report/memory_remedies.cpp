// A change is tried by sharding and planning the job anew and adding up its memory, which needs no program and no
// engine. Only changes that fit are simulated, for the time of the iteration.

#include "report/memory_remedies.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/units.hpp"
#include "program/reserved_memory.hpp"
#include "scenario/job_check.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr std::size_t kMostShown = 6;
constexpr int kMostTimesTheNodes = 512;

// A ladder holds changes of one kind, the weakest first. The last change of a ladder needs least memory.
using Change = std::function<void(Strategy&)>;
using Ladder = std::vector<Change>;

template <typename T>
Change setting(T Strategy::*member, T value) {
  return [=](Strategy& strategy) { strategy.*member = value; };
}

Ladder recomputation(const Strategy& strategy) {
  Ladder out;
  if (strategy.recompute == Recompute::none) out.push_back(setting(&Strategy::recompute, Recompute::selective));
  if (strategy.recompute != Recompute::full) {
    out.push_back(setting(&Strategy::recompute, Recompute::full));
  } else if (strategy.partly_recomputed() > 0) {
    out.push_back(setting(&Strategy::recompute_layers, 0));
  }
  return out;
}

Ladder smaller_microbatches(const Strategy& strategy) {
  Ladder out;
  for (int size = strategy.micro_batch / 2; size >= 1; size /= 2) out.push_back(setting(&Strategy::micro_batch, size));
  return out;
}

Ladder sharded_states(const Strategy& strategy) {
  Ladder out;
  for (int stage = strategy.zero + 1; stage <= 3 && strategy.replicas() > 1; ++stage) {
    out.push_back(setting(&Strategy::zero, stage));
  }
  return out;
}

// Moves the optimizer to the host, or back if the host has too little memory.
Ladder offloaded_optimizers(const Strategy& strategy, bool host_is_short) {
  Ladder out;
  if (!host_is_short) {
    if (strategy.offload_optimizer < 1) out.push_back(setting(&Strategy::offload_optimizer, 1.0));
    return out;
  }
  for (const double share : {0.75, 0.5, 0.25, 0.0}) {
    if (share < strategy.offload_optimizer) out.push_back(setting(&Strategy::offload_optimizer, share));
  }
  return out;
}

Ladder sequence_parallelism(const Strategy& strategy) {
  if (strategy.tensor == 1 || strategy.sequence_parallel) return {};
  return {setting(&Strategy::sequence_parallel, true)};
}

Ladder plain_schedule(const Strategy& strategy) {
  const ScheduleId plain = schedule_named("1f1b");
  if (strategy.schedule == plain || strategy.pipeline == 1) return {};
  return {[=](Strategy& s) {
    s.schedule = plain;
    s.virtual_pipeline = 1;
    s.max_in_flight = s.microbatch_group = 0;
  }};
}

// Enlarges groups by ranks taken from the data-parallel replicas.
Ladder larger_groups(const Strategy& strategy, int Strategy::*size, int most = strategy_limits::kRanks) {
  Ladder out;
  if (!strategy.stages.empty()) return out;
  for (int times = 2; times <= strategy.data && strategy.data % times == 0 && strategy.*size <= most / times;
       times *= 2) {
    out.push_back([=](Strategy& s) {
      s.*size *= times;
      s.data /= times;
    });
  }
  return out;
}

Ladder divided_experts(const Job& job) {
  Ladder out;
  const Strategy& strategy = job.strategy;
  if (job.model.mixture.experts == 0 || !strategy.stages.empty()) return out;
  for (int size = 2 * strategy.expert; size <= job.model.mixture.experts; size *= 2) {
    out.push_back(setting(&Strategy::expert, size));
  }
  return out;
}

// Returns the number of GPUs that every node reaches by its scale-up link: larger tensor groups take more time than
// they are worth.
int smallest_domain(const Cluster& cluster) {
  int out = strategy_limits::kRanks;
  for (const NodeGroup& group : cluster.groups()) out = std::min(out, group.hardware.spec.scale_up_domain);
  return std::max(1, out);
}

// Returns the ladders, those first that change least of the job. The last three take other GPUs together.
std::vector<Ladder> ladders(const Job& job, bool host_is_short) {
  const Strategy& s = job.strategy;
  return {recomputation(s),
          smaller_microbatches(s),
          sharded_states(s),
          sequence_parallelism(s),
          plain_schedule(s),
          offloaded_optimizers(s, host_is_short),
          divided_experts(job),
          larger_groups(s, &Strategy::tensor, smallest_domain(job.cluster)),
          larger_groups(s, &Strategy::pipeline),
          larger_groups(s, &Strategy::context)};
}

// Returns the keys in which two strategies differ, as scenarios write those of the second strategy: "strategy.tensor:
// 4, strategy.zero: 1".
std::string changes_text(const Strategy& from, const Strategy& to) {
  std::string out;
  for (const StrategyKey& key : strategy_keys()) {
    if (key.text(from) == key.text(to) || (key.left_out(from) && key.left_out(to))) continue;
    out += fmt::format("{}strategy.{}: {}", out.empty() ? "" : ", ", key.key, key.text(to));
  }
  return out;
}

// Bytes that the job needs of the memory that lacks most or, if all fits, has least to spare.
struct Need {
  double bytes = 0;
  double capacity = 0;
  bool of_host = false;
  bool fits = false;

  double beyond() const { return bytes - capacity; }
};

Need need_of(const std::vector<StageMemory>& stages, const MemoryLimit& limit) {
  Need most;
  bool first = true;
  most.fits = true;
  for (const StageMemory& stage : stages) {
    const Need of_device{needed_bytes(stage, limit), limit.of_device(stage.capacity, stage.peak.platform), false,
                         false};
    const Need of_host{stage.host, limit.of_host(stage.host_capacity), true, false};
    for (const Need& need : {of_device, of_host}) {
      if (need.of_host && need.bytes == 0) continue;
      const bool fits = most.fits && need.beyond() <= 0;
      if (first || need.beyond() > most.beyond()) most = need;
      most.fits = fits;
      first = false;
    }
  }
  return most;
}

// Returns the need of a job; nullopt if the job cannot run for reasons other than memory.
std::optional<Need> need_of(const Job& job, const MemoryLimit& limit) {
  static const Document nothing = Document::from_text("{}", "a change that is tried");
  try {
    check_cancelled();
    check_job(nothing, job);
    const ShardedBlocks blocks = shard_blocks(job);
    const std::vector<StagePlan> plans = plan_stages(job, blocks);
    std::vector<StageMemory> memory = account_memory(job, blocks, plans);
    if (limit.is_of_probability) add_reserves(job, blocks, plans, memory);
    return need_of(memory, limit);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string text_of(const Need& need) {
  return fmt::format("{:.1f} of {:.1f} GiB{}", need.bytes / kGiB, need.capacity / kGiB,
                     need.of_host ? " of a rank's share of its host" : "");
}

// A job after some changes.
struct Tried {
  Job job;
  std::optional<Need> need;

  bool fits() const { return need && need->fits; }
  bool is_better_than(const std::optional<Need>& other) const {
    constexpr double kWorthIt = 1e-3;
    return need && (!other || need->beyond() < other->beyond() - kWorthIt * other->capacity);
  }
};

// Tries each change of each ladder.
std::vector<std::vector<Tried>> tried(const Job& job, const std::vector<Ladder>& all, const MemoryLimit& limit) {
  std::vector<std::vector<Tried>> out(all.size());
  std::vector<Tried*> flat;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Change& change : all[i]) {
      out[i].push_back({job, {}});
      change(out[i].back().job.strategy);
    }
  }
  for (std::vector<Tried>& ladder : out) {
    for (Tried& each : ladder) flat.push_back(&each);
  }
  parallel_for(flat.size(), [&](std::size_t i) { flat[i]->need = need_of(flat[i]->job, limit); });
  return out;
}

// Returns the first change of a ladder that fits, else the change that needs least; nullptr if none needs less than
// `base`.
const Tried* best_of(const std::vector<Tried>& ladder, const std::optional<Need>& base) {
  const Tried* best = nullptr;
  for (const Tried& each : ladder) {
    if (each.fits()) return &each;
    if (each.is_better_than(best != nullptr ? best->need : base)) best = &each;
  }
  return best;
}

// Compares the time of an iteration with another iteration's: "12 % slower".
std::string time_text(const Job& job, double seconds) {
  try {
    const double ratio = simulate(job).result.iteration_time_s / seconds;
    if (ratio >= 0.995 && ratio < 1.005) return ", as fast";
    if (ratio >= 2) return fmt::format(", {:.1f} times as slow", ratio);
    return fmt::format(", {:.0f} % {}", 100 * std::abs(ratio - 1), ratio > 1 ? "slower" : "faster");
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> times_of(const std::vector<const Tried*>& fitting, double seconds) {
  std::vector<std::string> out(fitting.size());
  parallel_for(fitting.size(), [&](std::size_t i) { out[i] = time_text(fitting[i]->job, seconds); });
  return out;
}

// Applies changes one after the other, at most one of each ladder: the first that fits, or the change that then needs
// least.
Tried combined(Tried from, bool only_groups, const MemoryLimit& limit) {
  std::vector<bool> used(ladders(from.job, false).size(), false);
  while (!from.fits()) {
    std::vector<Ladder> all = ladders(from.job, from.need && from.need->of_host);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (used[i] || (only_groups && i + 3 < all.size())) all[i].clear();
    }
    const std::vector<std::vector<Tried>> results = tried(from.job, all, limit);
    std::optional<std::size_t> chosen;
    const Tried* best = nullptr;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tried* const own = best_of(results[i], best != nullptr ? best->need : from.need);
      if (own == nullptr || (best != nullptr && best->fits())) continue;
      best = own;
      chosen = i;
    }
    if (best == nullptr) break;
    used[*chosen] = true;
    from = *best;
  }
  return from;
}

std::optional<Cluster> enlarged(const Cluster& cluster, int times) {
  const auto groups = cluster.groups();
  const int repeats = cluster.mixes_gpus() ? times : 1;  // of nodes whose kinds of GPU are groups of one node each
  std::vector<NodeAllotment> nodes;
  for (int i = 0; i < repeats; ++i) nodes.insert(nodes.end(), groups.begin(), groups.end());
  for (NodeAllotment& allotment : nodes) allotment.count *= times / repeats;
  try {
    return Cluster(std::move(nodes), cluster.fabric(), {}, cluster.facility());
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns the multiple of the cluster's nodes on which the same changes, and larger groups, fit, if nothing fits on the
// cluster.
std::string more_gpus(const Strategy& stated, const Tried& frugal, const MemoryLimit& limit) {
  const int gpus = frugal.job.cluster.gpus();
  if (!frugal.job.strategy.stages.empty() || frugal.job.part) return {};
  bool any_runs = false;
  for (int times = 2; times <= kMostTimesTheNodes; times *= 2) {
    const std::optional<Cluster> cluster = enlarged(frugal.job.cluster, times);
    if (!cluster) break;
    Tried larger = frugal;
    larger.job.cluster = *cluster;
    larger.job.strategy.data *= times;
    if (!larger.job.strategy.replica_microbatches.empty()) larger.job.strategy.replica_microbatches.clear();
    larger.need = need_of(larger.job, limit);
    larger = combined(std::move(larger), true, limit);
    any_runs = any_runs || larger.need;
    if (!larger.fits()) continue;
    return fmt::format("{} GPUs would do ({} times the nodes), with {}: {}", gpus * times, times,
                       changes_text(stated, larger.job.strategy), text_of(*larger.need));
  }
  if (!any_runs) return {};
  return fmt::format("no number of these nodes up to {} times as many was found to be enough", kMostTimesTheNodes);
}

std::string listed(const Strategy& stated, const std::vector<const Tried*>& of, const std::vector<std::string>& times) {
  std::string out;
  for (std::size_t i = 0; i < of.size() && i < kMostShown; ++i) {
    const bool fits = of[i]->fits();
    out += fmt::format("\n    {}: {}{}{}", changes_text(stated, of[i]->job.strategy), text_of(*of[i]->need),
                       fits ? ", fits" : "", i < times.size() ? times[i] : "");
  }
  return out;
}

}  // namespace

std::string memory_remedies(const Job& job, const IterationResult& result) {
  std::vector<StageMemory> stages;
  for (const StageResult& stage : result.stages) stages.push_back(stage.memory);
  const MemoryLimit all_of_it;
  const Need base = need_of(stages, all_of_it);
  std::vector<const Tried*> fitting;
  std::vector<const Tried*> helping;
  const std::vector<std::vector<Tried>> alone = tried(job, ladders(job, base.of_host), all_of_it);
  for (const std::vector<Tried>& ladder : alone) {
    const Tried* const best = best_of(ladder, base);
    if (best != nullptr) (best->fits() ? fitting : helping).push_back(best);
  }
  if (!fitting.empty()) {
    if (fitting.size() > kMostShown) fitting.resize(kMostShown);
    return (fitting.size() == 1 ? "this is enough:" : "each of these is enough:") +
           listed(job.strategy, fitting, times_of(fitting, result.iteration_time_s));
  }
  std::stable_sort(helping.begin(), helping.end(),
                   [](const Tried* a, const Tried* b) { return a->need->beyond() < b->need->beyond(); });
  std::string out = helping.empty() ? "no change of the strategy that was tried needs less"
                                    : "none of these is enough alone:" + listed(job.strategy, helping, {});
  const Tried all = combined({job, base}, false, all_of_it);
  if (all.fits()) {
    const std::vector<const Tried*> only = {&all};
    return out + "\n  together these are:" + listed(job.strategy, only, times_of(only, result.iteration_time_s));
  }
  if (all.job.strategy != job.strategy)
    out += fmt::format("\n  nor together: {} on {} GPUs", text_of(*all.need), job.cluster.gpus());
  const std::string more = more_gpus(job.strategy, all, all_of_it);
  return more.empty() ? out : out + "\n  " + more;
}

std::string memory_advice(const SearchScenario& search) {
  const MemoryLimit limit = memory_limit(search.job, search.search.spec);
  Tried plain{search.job, {}};
  Strategy& strategy = plain.job.strategy;
  strategy = search.search.spec.space.others;
  strategy.stages.clear();
  strategy.data = std::max(1, search.job.cluster.gpus() / strategy.team() / strategy.pipeline);
  plain.need = need_of(plain.job, limit);
  const Strategy stated = strategy;
  const Tried all = combined(std::move(plain), false, limit);
  if (!all.fits()) return more_gpus(stated, all, limit);
  return fmt::format("outside this space, {} fits: {}", changes_text(stated, all.job.strategy), text_of(*all.need));
}

}  // namespace mirfak
