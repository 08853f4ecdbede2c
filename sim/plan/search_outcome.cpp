#include "plan/search_outcome.hpp"

#include "base/parallel.hpp"
#include "base/yaml.hpp"
#include "plan/candidate_clusters.hpp"
#include "plan/cluster_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace mirfak {

namespace {

SimulatedStrategy simulated(FoundStrategy found) {
  const auto started = std::chrono::steady_clock::now();
  const Simulation simulation = simulate(found.job);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  return {std::move(found), simulation.result, took.count()};
}

bool same_nodes(const Cluster& a, const Cluster& b) {
  return std::equal(a.groups().begin(), a.groups().end(), b.groups().begin(), b.groups().end(),
                    [](const NodeGroup& left, const NodeGroup& right) {
                      return left.count == right.count && left.hardware.spec.name == right.hardware.spec.name;
                    });
}

bool same_layout(const Job& a, const Job& b) {
  const Strategy& s = a.strategy;
  const Strategy& t = b.strategy;
  return s.tensor == t.tensor && s.context == t.context && s.pipeline == t.pipeline && s.data == t.data &&
         s.expert == t.expert && s.tensor_of_experts() == t.tensor_of_experts() && same_nodes(a.cluster, b.cluster);
}

RuleExpression another_layout_than(const Strategy& s) {
  const std::string text = fmt::format("not (tensor == {} and context == {} and pipeline == {} and expert == {})",
                                       s.tensor, s.context, s.pipeline, s.expert);
  const Document document = Document::from_text(quoted_yaml(text), "the search for another layout");
  return RuleExpression::parse(Node(document));
}

std::optional<SimulatedStrategy> best_of_another_layout(const Job& job, SearchSpec spec,
                                                        const std::vector<SimulatedStrategy>& strategies, int threads) {
  const Job& best = strategies.front().found.job;
  const auto other = std::find_if(strategies.begin(), strategies.end(), [&](const SimulatedStrategy& strategy) {
    return !same_layout(strategy.found.job, best);
  });
  if (other != strategies.end()) return *other;
  spec.top = 1;
  spec.rules.push_back(another_layout_than(best.strategy));
  SearchResult result = search(job, spec, threads);
  if (result.strategies.empty() || same_layout(result.strategies.front().job, best)) return std::nullopt;
  return simulated(std::move(result.strategies.front()));
}

std::optional<FoundStrategy> best_without_limits(const Job& job, SearchSpec spec, SearchObjective objective,
                                                 int threads, const SearchStop& stop) {
  spec.objective = objective;
  spec.top = 1;
  spec.deadline_s = spec.budget_usd = spec.power_cap_w = 0;
  const SearchResult result = search(job, spec, threads, {}, stop);
  if (result.strategies.empty() || !result.complete) return std::nullopt;
  return result.strategies.front();
}

double least_waiting_w(const Job& job, const SearchSpec& spec) {
  double least = std::numeric_limits<double>::infinity();
  for (const NodeCounts& counts : node_choices(job.cluster, spec)) {
    least = std::min(least, rates_of(job.cluster, counts, 0).blocked_w);
  }
  return least;
}

bool all_priced(const Cluster& cluster) {
  return std::all_of(cluster.groups().begin(), cluster.groups().end(),
                     [](const NodeGroup& group) { return group.price.has_value(); });
}

// What limits could be kept at all.
void find_extremes(const Job& job, const SearchSpec& spec, int threads, const SearchStop& stop, SearchOutcome& out) {
  if (spec.deadline_s == 0 && spec.budget_usd == 0 && spec.power_cap_w == 0) return;
  out.fastest = best_without_limits(job, spec, SearchObjective::time, threads, stop);
  if (out.fastest && all_priced(job.cluster)) {
    out.cheapest = best_without_limits(job, spec, SearchObjective::cost, threads, stop);
  }
  out.least_waiting_w = least_waiting_w(job, spec);
}

}  // namespace

SearchOutcome search_and_simulate(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress,
                                  const SearchStop& stop) {
  const auto started = std::chrono::steady_clock::now();
  SearchResult result = search(job, spec, threads, progress, stop);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  SearchOutcome out;
  out.funnel = std::move(result.funnel);
  out.min_shortage_bytes = result.min_shortage_bytes;
  out.headroom_that_fits = result.headroom_that_fits;
  out.left_out = std::move(result.left_out);
  out.complete = result.complete;
  out.search_time_s = took.count();
  out.strategies.resize(result.strategies.size(), {{job, 0, 0, 0, {}}, {}, 0});
  parallel_for(
      result.strategies.size(), [&](std::size_t i) { out.strategies[i] = simulated(std::move(result.strategies[i])); },
      threads);
  if (!out.complete) return out;
  if (out.strategies.empty()) find_extremes(job, spec, threads, stop, out);
  if (!out.strategies.empty() && spec.objective != SearchObjective::pareto) {
    out.other_layout = best_of_another_layout(job, spec, out.strategies, threads);
  }
  return out;
}

}  // namespace mirfak
