#include "brute_force.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "program/replica_classes.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace mirfak::test {

namespace {

using Visit = std::function<void(const Strategy&)>;

bool has(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// GPUs that the smallest scale-up domain joins.
int smallest_domain(const Cluster& cluster) {
  int smallest = cluster.gpus();
  for (const NodeGroup& group : cluster.groups()) smallest = std::min(smallest, group.hardware.spec.scale_up_domain);
  return smallest;
}

void each_layout(const StrategySpace& space, const Cluster& cluster, const Visit& visit) {
  const int domain = smallest_domain(cluster);
  for (const int tensor : space.tensor) {
    if (tensor > domain && !space.tensor_across_domains) continue;
    for (const int context : space.context) {
      for (const int pipeline : space.pipeline) {
        if (cluster.gpus() % (tensor * context * pipeline) != 0) continue;
        for (const int expert : space.expert) {
          for (const int expert_tensor : space.expert_tensor) {
            if (expert_tensor == 1 && tensor == 1) continue;
            Strategy strategy = space.others;
            strategy.tensor = tensor;
            strategy.context = context;
            strategy.pipeline = pipeline;
            strategy.expert = expert;
            strategy.expert_tensor = expert_tensor;
            strategy.data = cluster.gpus() / (tensor * context * pipeline);
            visit(strategy);
          }
        }
      }
    }
  }
}

// Visits stages of one shape for each type of nodes, in the cluster's order, from the first that `stages` has none of.
void each_shape(const StrategySpace& space, const Cluster& cluster, std::size_t type,
                const std::vector<StageShape>& stages,
                const std::function<void(const std::vector<StageShape>&)>& visit) {
  if (type == cluster.groups().size()) return visit(stages);
  const NodeGroup& nodes = cluster.groups()[type];
  const int gpus = nodes.gpus();
  for (const int tensor : space.tensor) {
    if (tensor > nodes.hardware.spec.scale_up_domain && !space.tensor_across_domains) continue;
    for (int count = 1; count * tensor <= gpus; ++count) {
      if (gpus % (count * tensor) != 0) continue;
      for (const int expert : space.expert) {
        std::vector<StageShape> more = stages;
        more.insert(more.end(), static_cast<std::size_t>(count), {tensor, gpus / (count * tensor), expert});
        each_shape(space, cluster, type + 1, more, visit);
      }
    }
  }
}

Strategy shaped(Strategy strategy, const std::vector<StageShape>& stages) {
  strategy.stages = stages;
  strategy.pipeline = static_cast<int>(stages.size());
  StageShape widest = stages.front();
  for (const StageShape& stage : stages) {
    if (stage.data > widest.data) widest = stage;
  }
  strategy.tensor = widest.tensor;
  strategy.data = widest.data;
  strategy.expert = widest.expert;
  return strategy;
}

void each_shaped_layout(const StrategySpace& space, const Cluster& cluster, const Visit& visit) {
  each_shape(space, cluster, 0, {}, [&](const std::vector<StageShape>& stages) {
    const bool alike = std::count(stages.begin(), stages.end(), stages.front()) == std::ssize(stages);
    if (alike || !has(space.pipeline, static_cast<int>(stages.size()))) return;
    for (const int expert_tensor : space.expert_tensor) {
      Strategy strategy = shaped(space.others, stages);
      strategy.expert_tensor = expert_tensor;
      visit(strategy);
    }
  });
}

bool divides_tensors(const Strategy& strategy) {
  return strategy.tensor > 1 || std::any_of(strategy.stages.begin(), strategy.stages.end(),
                                            [](const StageShape& stage) { return stage.tensor > 1; });
}

void each_way_to_run_parts(const StrategySpace& space, Strategy strategy, const Visit& visit) {
  for (const int nanobatches : space.nanobatches) {
    for (const int multiprocessors : space.communication_sms) {
      strategy.nanobatches = nanobatches;
      strategy.communication_sms = multiprocessors;
      visit(strategy);
    }
  }
}

void each_way_to_run_blocks(const StrategySpace& space, Strategy strategy, const Visit& visit) {
  for (const int micro_batch : space.micro_batch) {
    for (const bool sequence_parallel : space.sequence_parallel) {
      for (const bool overlap_tensor : space.overlap_tensor) {
        // The same strategy by another name.
        if (sequence_parallel && !divides_tensors(strategy) && space.sequence_parallel.size() > 1) continue;
        if (overlap_tensor && !sequence_parallel && space.overlap_tensor.size() > 1) continue;
        for (const Recompute recompute : space.recompute) {
          strategy.micro_batch = micro_batch;
          strategy.sequence_parallel = sequence_parallel;
          strategy.overlap_tensor = overlap_tensor;
          strategy.recompute = recompute;
          each_way_to_run_parts(space, strategy, visit);
        }
      }
    }
  }
}

// Returns, for each stage, the types of nodes on which its replicas lie.
std::vector<std::vector<std::string>> hardware_of(const Job& job) {
  std::vector<std::vector<std::string>> out(static_cast<std::size_t>(job.strategy.pipeline));
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    for (int replica = 0; replica < job.strategy.shape_of(stage).data; ++replica) {
      const int device = job.rank_of(stage, replica, 0);
      out[static_cast<std::size_t>(stage)].push_back(job.cluster.group_of(device).hardware.name());
    }
  }
  return out;
}

// Visits all ways to write `layers` as `parts` positive numbers.
void each_composition(int layers, std::size_t parts, std::vector<int>& so_far,
                      const std::function<void(const std::vector<int>&)>& visit) {
  if (so_far.size() + 1 == parts) {
    so_far.push_back(layers);
    visit(so_far);
    so_far.pop_back();
    return;
  }
  for (int own = 1; own + static_cast<int>(parts - so_far.size()) - 1 <= layers; ++own) {
    so_far.push_back(own);
    each_composition(layers - own, parts, so_far, visit);
    so_far.pop_back();
  }
}

// True if stages on equal hardware have equally many layers, but the ends `first` and `last` fewer.
bool even_but_for_ends(std::vector<int> layers, const std::vector<std::vector<std::string>>& hardware, int first,
                       int last) {
  layers.front() += first;
  layers.back() += last;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (hardware[i] == hardware[j] && layers[i] != layers[j]) return false;
    }
  }
  return true;
}

// Returns the layers of each stage in one round of chunks over the stages.
std::vector<std::vector<int>> rounds_of(const Job& job, int layers, int uneven) {
  const std::vector<std::vector<std::string>> hardware = hardware_of(job);
  std::vector<std::vector<int>> all;
  std::vector<int> so_far;
  if (layers >= job.strategy.pipeline) {
    each_composition(layers, hardware.size(), so_far, [&](const std::vector<int>& split) { all.push_back(split); });
  }
  std::vector<std::vector<int>> out;
  for (int first = 0; first <= uneven; ++first) {
    for (int last = 0; last <= uneven; ++last) {
      for (const std::vector<int>& split : all) {
        const bool known = std::find(out.begin(), out.end(), split) != out.end();
        if (!known && even_but_for_ends(split, hardware, first, last)) out.push_back(split);
      }
    }
  }
  return out;
}

// Returns the numbers of groups of `own` layers into which the chunks of a round fall.
std::vector<int> groups_of(const std::vector<int>& round, int own) {
  std::vector<int> out;
  for (const int layers : round) out.push_back(layers / own + (layers % own == 0 ? 0 : 1));
  return out;
}

// All layers in groups that smaller ones do not make as few of: those would take as long and need less memory. Groups
// of one layer are all layers by another name.
void each_grouping(const StrategySpace& space, Strategy strategy, const std::vector<int>& round, bool block_too,
                   const Visit& visit) {
  const int most = *std::max_element(round.begin(), round.end());
  strategy.recompute_method = RecomputeMethod::uniform;
  for (const int own : space.recompute_layers) {
    if (own == 0 || own > most || (own == 1 && block_too && has(space.recompute_layers, 0))) continue;
    const bool known = std::any_of(space.recompute_layers.begin(), space.recompute_layers.end(), [&](int other) {
      return other > 0 && other < own && groups_of(round, other) == groups_of(round, own);
    });
    strategy.recompute_layers = own;
    if (!known) visit(strategy);
  }
}

void each_recomputation(const StrategySpace& space, Strategy strategy, const std::vector<int>& round,
                        const Visit& visit) {
  strategy.recompute_layers = 0;
  strategy.recompute_method = RecomputeMethod::block;
  if (strategy.recompute == Recompute::none) return visit(strategy);
  const auto has_method = [&](RecomputeMethod method) {
    return std::find(space.recompute_method.begin(), space.recompute_method.end(), method) !=
           space.recompute_method.end();
  };
  const bool block_too = has_method(RecomputeMethod::block);
  for (const int recomputed : space.recompute_layers) {
    if (!block_too || recomputed >= *std::max_element(round.begin(), round.end())) continue;
    strategy.recompute_layers = recomputed;
    visit(strategy);
  }
  if (strategy.recompute == Recompute::full && has_method(RecomputeMethod::uniform)) {
    each_grouping(space, strategy, round, block_too, visit);
  }
}

// `first`, `last`: layers that the ends of the pipeline have fewer than their stages' other chunks.
void each_split(const StrategySpace& space, Strategy strategy, std::vector<int> round, int first, int last,
                const Visit& visit) {
  strategy.layer_split.clear();
  const auto [fewest, most] = std::minmax_element(round.begin(), round.end());
  const bool even = *fewest == *most && first == 0 && last == 0;
  for (int chunk = 0; !even && chunk < strategy.virtual_pipeline; ++chunk) {
    strategy.layer_split.insert(strategy.layer_split.end(), round.begin(), round.end());
  }
  if (!even) {
    strategy.layer_split.front() -= first;
    strategy.layer_split.back() -= last;
    round.push_back(strategy.layer_split.front());
    round.push_back(strategy.layer_split.back());
  }
  each_recomputation(space, strategy, round, visit);
}

// Schedules that say how many chunks a stage has, all of them equally long.
void each_placed(const StrategySpace& space, Strategy strategy, const Job& job, ScheduleId schedule,
                 const Visit& visit) {
  strategy.schedule = schedule;
  strategy.virtual_pipeline = schedule_of(schedule).chunks;
  strategy.layer_split.clear();
  const auto unfit = schedule_of(schedule).unfit(pipeline_shape(strategy, 1));
  if (unfit && unfit->size == Unfit::Size::stages) return;
  const int parts = placement_of(strategy).parts();
  const auto layers = static_cast<int>(job.model.layers);
  if (layers % parts != 0) return;
  each_recomputation(space, strategy, std::vector<int>(static_cast<std::size_t>(strategy.pipeline), layers / parts),
                     visit);
}

// `job`: on its nodes, with a strategy whose pipeline is still open.
void each_pipeline(const StrategySpace& space, const Job& job, const Visit& visit) {
  Strategy strategy = job.strategy;
  const int uneven = strategy.pipeline > 1 ? space.uneven_layers : 0;
  for (const ScheduleId schedule : space.schedule) {
    const Schedule& order = schedule_of(schedule);
    if (order.chunks > 1) {
      each_placed(space, strategy, job, schedule, visit);
      continue;
    }
    for (const int chunks : space.virtual_pipeline) {
      if ((chunks > 1) != (schedule == schedule_named("interleaved-1f1b"))) continue;
      strategy.schedule = schedule;
      strategy.virtual_pipeline = chunks;
      const int most = chunks > 1 ? space.uneven_end_chunks : 0;
      for (int first = 0; first <= most; ++first) {
        for (int last = 0; last <= most; ++last) {
          const int layers = static_cast<int>(job.model.layers) + first + last;
          if (layers % chunks != 0) continue;
          for (const std::vector<int>& round : rounds_of(job, layers / chunks, uneven)) {
            if (round.front() >= first && round.back() >= last) each_split(space, strategy, round, first, last, visit);
          }
        }
      }
    }
  }
}

void each_state(const StrategySpace& space, Strategy strategy, const Visit& visit) {
  for (const int zero : space.zero) {
    for (const bool reduce : space.overlap_grad_reduce) {
      // Sharded gradients are always reduced behind passes.
      if (zero >= 2 && reduce != space.overlap_grad_reduce.front()) continue;
      for (const bool gather : space.overlap_param_gather) {
        for (const double offload : space.offload_optimizer) {
          strategy.zero = zero;
          strategy.overlap_grad_reduce = reduce;
          strategy.overlap_param_gather = gather;
          strategy.offload_optimizer = offload;
          visit(strategy);
        }
      }
    }
  }
}

// Strategies and the order of nodes that they lie on.
struct Placed {
  Cluster cluster;
  Strategy strategy;
};

// Each stage with its part of every type of node.
std::optional<Cluster> spread(const Cluster& cluster, int stages) {
  std::vector<NodeAllotment> nodes;
  for (int stage = 0; stage < stages; ++stage) {
    for (const NodeGroup& group : cluster.groups()) {
      if (group.count % stages != 0) return std::nullopt;
      nodes.push_back(group);
      nodes.back().count = group.count / stages;
    }
  }
  return Cluster(std::move(nodes), cluster.fabric());
}

std::vector<Cluster> placements(const Cluster& cluster, int stages, bool first_order) {
  std::vector<Cluster> out;
  if (first_order || stages > 1) out.push_back(cluster);
  if (cluster.groups().size() == 1 || stages == 1 || !first_order) return out;
  if (auto other = spread(cluster, stages)) out.push_back(std::move(*other));
  return out;
}

// Even microbatches, or all ways to give two classes of replicas different numbers; none where a team of ranks would
// lie on two types of nodes.
void each_share(const Job& job, const Visit& visit) {
  std::vector<ReplicaClass> classes;
  try {
    classes = replica_classes(job);
  } catch (const Error&) {
    return;
  }
  Strategy strategy = job.strategy;
  const std::int64_t count = job.training.global_batch / strategy.micro_batch;
  if (classes.size() != 2) return visit(strategy);
  for (std::int64_t first = 1; first * classes[0].count() < count; ++first) {
    const std::int64_t left = count - first * classes[0].count();
    if (left % classes[1].count() != 0) continue;
    const std::int64_t second = left / classes[1].count();
    strategy.replica_microbatches.assign(static_cast<std::size_t>(strategy.data), static_cast<int>(first));
    for (const int replica : classes[1].replicas) {
      strategy.replica_microbatches[static_cast<std::size_t>(replica)] = static_cast<int>(second);
    }
    if (first == second) strategy.replica_microbatches.clear();
    visit(strategy);
  }
}

std::vector<Placed> valid_strategies(const Job& job, const StrategySpace& space, bool first_order) {
  std::vector<Placed> out;
  const Visit add = [&](const Strategy& layout) {
    const bool stays = !layout.stages.empty();
    for (const Cluster& cluster :
         stays ? std::vector<Cluster>{job.cluster} : placements(job.cluster, layout.pipeline, first_order)) {
      Job placed = job;
      placed.cluster = cluster;
      const Visit keep = [&](const Strategy& strategy) {
        if (!first_violation({job.model, job.training, job.framework, strategy, cluster.gpus()}))
          out.push_back({cluster, strategy});
      };
      each_way_to_run_blocks(space, layout, [&](const Strategy& blocks) {
        if (blocks.micro_batch * blocks.data > job.training.global_batch) return;
        placed.strategy = blocks;
        each_pipeline(space, placed, [&](const Strategy& pipeline) {
          Job shaped = placed;
          shaped.strategy = pipeline;
          each_share(shaped, [&](const Strategy& shared) { each_state(space, shared, keep); });
        });
      });
    }
  };
  if (space.stages == StageShapes::fixed) {
    add(shaped(space.others, space.others.stages));
    return out;
  }
  each_layout(space, job.cluster, add);
  if (space.stages == StageShapes::by_type) each_shaped_layout(space, job.cluster, add);
  return out;
}

std::string shapes_of(const Strategy& strategy) {
  std::string out;
  for (int stage = 0; stage < static_cast<int>(strategy.stages.size()); ++stage) {
    const Strategy own = strategy.at(stage);
    out += fmt::format("{}x{} e{} of {} ", own.tensor, own.data, own.expert, own.tensor_of_experts());
  }
  return out;
}

double value_of(const JudgedStrategy& judged, const SearchSpec& spec) {
  switch (spec.objective) {
    case SearchObjective::cost:
      return judged.cost_usd;
    case SearchObjective::energy:
      return judged.energy_j;
    case SearchObjective::finish:
      return spec.finish(judged.cluster).at(judged.time_s);
    default:
      return judged.time_s;
  }
}

bool within_limits(const JudgedStrategy& judged, const SearchSpec& spec) {
  return (spec.deadline_s == 0 || judged.time_s <= spec.deadline_s) &&
         (spec.budget_usd == 0 || judged.cost_usd <= spec.budget_usd);
}

bool no_worse(const JudgedStrategy& a, const JudgedStrategy& b) {
  return a.time_s <= b.time_s && a.cost_usd <= b.cost_usd && a.energy_j <= b.energy_j;
}

// Returns the strategies that no other one beats; of equal ones, the first in the order of the space stays.
std::vector<JudgedStrategy> not_dominated(const std::vector<JudgedStrategy>& among) {
  std::vector<JudgedStrategy> out;
  for (std::size_t i = 0; i < among.size(); ++i) {
    bool dominated = false;
    for (std::size_t j = 0; j < among.size() && !dominated; ++j) {
      dominated = no_worse(among[j], among[i]) && (j < i || !no_worse(among[i], among[j]));
    }
    if (!dominated) out.push_back(among[i]);
  }
  return out;
}

// The price of the whole cluster: an iteration costs its length times this, whatever the strategy. The engine adds up
// the prices of stages, with other roundings.
double usd_per_s(const Cluster& cluster) {
  constexpr double seconds_per_hour = 3600;
  double sum = 0;
  for (const NodeGroup& group : cluster.groups()) {
    sum += group.gpus() * group.price->usd_per_gpu_hour.value / seconds_per_hour;
  }
  return sum;
}

std::string layout_of(const Cluster& cluster, const Strategy& s) {
  std::string out;
  for (const NodeGroup& group : cluster.groups()) out += fmt::format("{} {} ", group.count, group.hardware.spec.name);
  return out + shapes_of(s) +
         fmt::format("{} {} {} {} {} {}", s.tensor, s.context, s.pipeline, s.data, s.expert, s.tensor_of_experts());
}

double least_free(const IterationResult& result) {
  double free = 1;
  for (const StageResult& stage : result.stages) {
    const StageMemory& memory = stage.memory;
    free = std::min(free, (memory.capacity - memory.peak.total()) / memory.capacity);
    if (memory.host > 0) free = std::min(free, (memory.host_capacity - memory.host) / memory.host_capacity);
  }
  return free;
}

JudgedStrategy judge(const std::shared_ptr<const Job>& job, const Cluster& cluster, const Strategy& strategy) {
  Job own = *job;
  own.cluster = cluster;
  own.strategy = strategy;
  const auto simulation = simulate(std::move(own));
  const IterationResult& result = simulation.result;
  const double cost_usd = usd_per_s(job->cluster) * result.iteration_time_s;
  return {job,
          cluster,
          strategy,
          layout_of(cluster, strategy),
          least_free(result),
          result.fit_probability,
          result.iteration_time_s,
          cost_usd,
          result.energy_j};
}

Cluster at_percent(const Cluster& cluster, int percent) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : cluster.groups()) {
    const GpuSpec& gpu = nodes.emplace_back(group).hardware.gpu;
    double clock_hz = gpu.clock_max_hz.value;
    while (clock_hz > percent * gpu.clock_max_hz.value / 100 + 1) clock_hz -= gpu.clock_step_hz.value;
    nodes.back().hardware.spec.clock_hz = std::max(clock_hz, gpu.clock_min_hz.value);
  }
  return {std::move(nodes), cluster.fabric()};
}

bool keeps_cap(const JudgedStrategy& judged, double cap_w) { return judged.energy_j / judged.time_s <= cap_w; }

JudgedStrategy at_lower_clocks(const JudgedStrategy& highest, double cap_w) {
  const auto at = [&](int percent) {
    JudgedStrategy out = judge(highest.job, at_percent(highest.cluster, percent), highest.strategy);
    out.clock_percent = percent;
    return out;
  };
  constexpr int lowest = 40;
  if (keeps_cap(highest, cap_w)) return highest;
  for (int percent = highest.clock_percent - 1; percent >= lowest; --percent) {
    JudgedStrategy out = at(percent);
    if (keeps_cap(out, cap_w)) return out;
  }
  return highest;
}

}  // namespace

std::vector<JudgedStrategy> simulate_all(const Job& job, const StrategySpace& space, bool first_order) {
  const std::vector<Placed> strategies = valid_strategies(job, space, first_order);
  const auto asked = std::make_shared<const Job>(job);
  std::vector<std::optional<JudgedStrategy>> judged(strategies.size());
  parallel_for(strategies.size(),
               [&](std::size_t i) { judged[i] = judge(asked, strategies[i].cluster, strategies[i].strategy); });
  std::vector<JudgedStrategy> out;
  for (auto& each : judged) {
    if (each) out.push_back(std::move(*each));
  }
  return out;
}

std::vector<JudgedStrategy> keeping_cap(const std::vector<JudgedStrategy>& all, double cap_w) {
  std::vector<std::optional<JudgedStrategy>> judged(all.size());
  parallel_for(all.size(), [&](std::size_t i) { judged[i] = at_lower_clocks(all[i], cap_w); });
  std::vector<JudgedStrategy> out;
  for (auto& each : judged) {
    if (keeps_cap(*each, cap_w)) out.push_back(std::move(*each));
  }
  return out;
}

std::vector<FoundLayout> best_of(const std::vector<JudgedStrategy>& all, const SearchSpec& spec) {
  std::vector<JudgedStrategy> kept;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept), [&](const JudgedStrategy& judged) {
    return judged.free >= spec.headroom && (spec.fit_probability == 0 || judged.chance >= spec.fit_probability);
  });
  std::erase_if(kept, [&](const JudgedStrategy& judged) { return !within_limits(judged, spec); });
  const bool pareto = spec.objective == SearchObjective::pareto;
  if (pareto) kept = not_dominated(kept);
  std::stable_sort(kept.begin(), kept.end(), [&](const JudgedStrategy& a, const JudgedStrategy& b) {
    return std::pair(value_of(a, spec), a.time_s) < std::pair(value_of(b, spec), b.time_s);
  });
  std::vector<FoundLayout> out;
  for (JudgedStrategy& judged : kept) {
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const FoundLayout& found) { return found.best.layout == judged.layout; });
    if (pareto || known == out.end()) {
      out.push_back({std::move(judged), {}});
      if (!pareto && static_cast<int>(out.size()) == spec.top) break;
    } else if (known->variants.size() < kMaxVariants) {
      known->variants.push_back(std::move(judged));
    }
  }
  return out;
}

std::string text_of(const Strategy& s) {
  return fmt::format(
      "tensor {} context {} pipeline {} chunks {} data {} expert {} expert_tensor {} micro_batch {} group {} schedule "
      "{} "
      "sequence {} recompute {} of {} method {} zero {} group {} overlap {}{}{} parts {} channels {} offload {} split "
      "[{}] shares [{}] "
      "stages [{}]",
      s.tensor, s.context, s.pipeline, s.virtual_pipeline, s.data, s.expert, s.expert_tensor, s.micro_batch,
      s.microbatch_group, static_cast<int>(s.schedule), s.sequence_parallel, static_cast<int>(s.recompute),
      s.recompute_layers, static_cast<int>(s.recompute_method), s.zero, s.zero_group, s.overlap_tensor ? " tensor" : "",
      s.overlap_grad_reduce ? " reduce" : "", s.overlap_param_gather ? " gather" : "", s.nanobatches,
      s.communication_sms, s.offload_optimizer, fmt::join(s.layer_split, " "), fmt::join(s.replica_microbatches, " "),
      shapes_of(s));
}

}  // namespace mirfak::test
