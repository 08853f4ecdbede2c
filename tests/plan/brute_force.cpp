#include "brute_force.hpp"

#include "base/parallel.hpp"
#include "engine/iteration.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace mirfak::test {

namespace {

using Visit = std::function<void(const Strategy&)>;

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

void each_way_to_run_blocks(const StrategySpace& space, Strategy strategy, const Visit& visit) {
  for (const int micro_batch : space.micro_batch) {
    for (const bool sequence_parallel : space.sequence_parallel) {
      for (const bool overlap_tensor : space.overlap_tensor) {
        for (const Recompute recompute : space.recompute) {
          strategy.micro_batch = micro_batch;
          strategy.sequence_parallel = sequence_parallel;
          strategy.overlap_tensor = overlap_tensor;
          strategy.recompute = recompute;
          visit(strategy);
        }
      }
    }
  }
}

// Layers of the chunks: `first` and `last` fewer at the ends of each round through the stages; empty if that does not
// add up.
std::vector<int> split_of(const Strategy& strategy, std::int64_t layers, int first, int last) {
  const int stages = strategy.pipeline;
  const int chunks = strategy.virtual_pipeline;
  if (layers % chunks != 0 || (layers / chunks + first + last) % stages != 0) return {};
  const auto most = static_cast<int>((layers / chunks + first + last) / stages);
  std::vector<int> round(static_cast<std::size_t>(stages), most);
  round.front() -= first;
  round.back() -= last;
  if (*std::min_element(round.begin(), round.end()) < 1) return {};
  std::vector<int> split;
  for (int chunk = 0; chunk < chunks; ++chunk) split.insert(split.end(), round.begin(), round.end());
  return split;
}

void each_pipeline(const StrategySpace& space, std::int64_t layers, Strategy strategy, const Visit& visit) {
  const int uneven = strategy.pipeline > 1 ? space.uneven_layers : 0;
  for (const ScheduleKind schedule : space.schedule) {
    for (const int chunks : space.virtual_pipeline) {
      if ((chunks > 1) != (schedule == ScheduleKind::interleaved)) continue;
      strategy.schedule = schedule;
      strategy.virtual_pipeline = chunks;
      for (int first = 0; first <= uneven; ++first) {
        for (int last = 0; last <= uneven; ++last) {
          const std::vector<int> split = split_of(strategy, layers, first, last);
          if (split.empty()) continue;
          const bool even = first == 0 && last == 0;
          strategy.layer_split = even ? std::vector<int>{} : split;
          const int longest = *std::max_element(split.begin(), split.end());
          for (const int recomputed : space.recompute_layers) {
            if (recomputed >= longest) continue;
            strategy.recompute_layers = recomputed;
            if (strategy.recompute != Recompute::none) visit(strategy);
          }
          strategy.recompute_layers = 0;
          if (strategy.recompute == Recompute::none) visit(strategy);
        }
      }
    }
  }
}

void each_state(const StrategySpace& space, Strategy strategy, const Visit& visit) {
  for (const int zero : space.zero) {
    for (const bool reduce : space.overlap_grad_reduce) {
      for (const bool gather : space.overlap_param_gather) {
        strategy.zero = zero;
        strategy.overlap_grad_reduce = reduce;
        strategy.overlap_param_gather = gather;
        visit(strategy);
      }
    }
  }
}

std::vector<Strategy> valid_strategies(const Job& job, const StrategySpace& space) {
  std::vector<Strategy> out;
  const Visit keep = [&](const Strategy& strategy) {
    if (!first_violation({job.model, job.training, strategy, job.cluster.gpus()})) out.push_back(strategy);
  };
  each_layout(space, job.cluster, [&](const Strategy& layout) {
    each_way_to_run_blocks(space, layout, [&](const Strategy& blocks) {
      each_pipeline(space, job.model.layers, blocks,
                    [&](const Strategy& pipeline) { each_state(space, pipeline, keep); });
    });
  });
  return out;
}

double value_of(const JudgedStrategy& judged, SearchObjective objective) {
  switch (objective) {
    case SearchObjective::cost:
      return judged.cost_usd;
    case SearchObjective::energy:
      return judged.energy_j;
    default:
      return judged.time_s;
  }
}

bool within_limits(const JudgedStrategy& judged, const SearchSpec& spec) {
  return (spec.deadline_s == 0 || judged.time_s <= spec.deadline_s) &&
         (spec.budget_usd == 0 || judged.cost_usd <= spec.budget_usd) &&
         (spec.power_cap_w == 0 || judged.energy_j <= spec.power_cap_w * judged.time_s);
}

bool no_worse(const JudgedStrategy& a, const JudgedStrategy& b) {
  return a.time_s <= b.time_s && a.cost_usd <= b.cost_usd && a.energy_j <= b.energy_j;
}

// Of equal ones, the first in the order of the space stays.
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

// No stage lies on two types of GPU, which nothing runs.
bool stages_are_uniform(const Job& job) {
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const int first = job.rank_of(stage, 0, 0);
    const int last = job.rank_of(stage, job.strategy.data - 1, job.strategy.team() - 1);
    if (job.cluster.place_of(first).group != job.cluster.place_of(last).group) return false;
  }
  return true;
}

// Of the whole cluster: an iteration costs its length times this, whatever the strategy. The engine adds up stages,
// with other roundings.
double usd_per_s(const Cluster& cluster) {
  constexpr double seconds_per_hour = 3600;
  double sum = 0;
  for (const NodeGroup& group : cluster.groups()) {
    sum += group.count * group.hardware.spec.gpus * group.price->usd_per_gpu_hour.value / seconds_per_hour;
  }
  return sum;
}

}  // namespace

std::vector<JudgedStrategy> simulate_all(const Job& job, const StrategySpace& space) {
  const std::vector<Strategy> strategies = valid_strategies(job, space);
  const double rate = usd_per_s(job.cluster);
  std::vector<std::optional<JudgedStrategy>> judged(strategies.size());
  parallel_for(strategies.size(), [&](std::size_t i) {
    Job own = job;
    own.strategy = strategies[i];
    if (!stages_are_uniform(own)) return;
    const auto simulation = simulate(std::move(own));
    const IterationResult& result = simulation->result;
    judged[i] = {strategies[i], result.fits, result.iteration_time_s, rate * result.iteration_time_s, result.energy_j};
  });
  std::vector<JudgedStrategy> out;
  for (auto& each : judged) {
    if (each) out.push_back(std::move(*each));
  }
  return out;
}

std::vector<JudgedStrategy> best_of(const std::vector<JudgedStrategy>& all, const SearchSpec& spec) {
  std::vector<JudgedStrategy> out;
  for (const JudgedStrategy& judged : all) {
    if (judged.fits && within_limits(judged, spec)) out.push_back(judged);
  }
  if (spec.objective == SearchObjective::pareto) out = not_dominated(out);
  std::stable_sort(out.begin(), out.end(), [&](const JudgedStrategy& a, const JudgedStrategy& b) {
    return std::pair(value_of(a, spec.objective), a.time_s) < std::pair(value_of(b, spec.objective), b.time_s);
  });
  const auto top = static_cast<std::size_t>(spec.top);
  if (spec.objective != SearchObjective::pareto && out.size() > top) out.resize(top);
  return out;
}

std::string text_of(const Strategy& s) {
  return fmt::format(
      "tensor {} context {} pipeline {} chunks {} data {} expert {} expert_tensor {} micro_batch {} group {} schedule "
      "{} "
      "sequence {} recompute {} of {} zero {} group {} overlap {}{}{} split [{}]",
      s.tensor, s.context, s.pipeline, s.virtual_pipeline, s.data, s.expert, s.expert_tensor, s.micro_batch,
      s.microbatch_group, static_cast<int>(s.schedule), s.sequence_parallel, static_cast<int>(s.recompute),
      s.recompute_layers, s.zero, s.zero_group, s.overlap_tensor ? " tensor" : "",
      s.overlap_grad_reduce ? " reduce" : "", s.overlap_param_gather ? " gather" : "", fmt::join(s.layer_split, " "));
}

}  // namespace mirfak::test
