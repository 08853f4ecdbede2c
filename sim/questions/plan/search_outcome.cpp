#include "plan/search_outcome.hpp"

#include "base/parallel.hpp"
#include "plan/candidate_clusters.hpp"
#include "plan/cluster_rates.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace mirfak {

namespace {

std::optional<FoundStrategy> best_without_limits(const Job& job, SearchSpec spec, SearchObjective objective,
                                                 int threads, const SearchStop& stop) {
  spec.objective = objective;
  spec.top = 1;
  const SearchResult result = search(job, without_limits(std::move(spec)), threads, {}, stop);
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

// Finds the limits that could be kept at all.
void find_extremes(const Job& job, const SearchSpec& spec, int threads, const SearchStop& stop, SearchOutcome& out) {
  if (!has_limits(spec)) return;
  out.fastest = best_without_limits(job, spec, SearchObjective::time, threads, stop);
  if (out.fastest && all_priced(job.cluster)) {
    out.cheapest = best_without_limits(job, spec, SearchObjective::cost, threads, stop);
  }
  out.least_waiting_w = least_waiting_w(job, spec);
}

// Returns `spec` with at least two layouts, so that the best can be compared with another one.
SearchSpec with_another_layout(SearchSpec spec) {
  spec.top = std::max(spec.top, 2);
  return spec;
}

}  // namespace

SimulatedStrategy simulate_found(FoundStrategy found) {
  const auto started = std::chrono::steady_clock::now();
  const Simulation simulation = simulate(found.job);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  return {std::move(found), simulation.result, took.count()};
}

SimulatedStrategy simulate_stated(const Job& job, const SearchSpec& spec) {
  SimulatedStrategy out = simulate_found({job, 0, 0, 0, {}, {}, 0});
  const IterationResult& result = out.iteration;
  FoundStrategy& found = out.found;
  found.iteration_time_s = result.iteration_time_s;
  if (result.priced) found.cost_usd = result.cost_usd;
  found.energy_j = result.energy_j;
  if (spec.finish) found.finish_s = spec.finish(job.cluster).at(result.iteration_time_s);
  return out;
}

SearchOutcome search_and_simulate(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress,
                                  const SearchStop& stop) {
  const auto started = std::chrono::steady_clock::now();
  SearchResult result = search(job, with_another_layout(spec), threads, progress, stop);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  SearchOutcome out;
  out.funnel = std::move(result.funnel);
  out.min_shortage_bytes = result.min_shortage_bytes;
  out.nearest_fit_probability = result.nearest_fit_probability;
  out.headroom_that_fits = result.headroom_that_fits;
  out.left_out = std::move(result.left_out);
  out.complete = result.complete;
  out.least_possible = result.least_possible;
  out.search_time_s = took.count();
  out.strategies.resize(result.strategies.size(), {{job, 0, 0, 0, {}, {}, 0}, {}, 0});
  parallel_for(
      result.strategies.size(),
      [&](std::size_t i) { out.strategies[i] = simulate_found(std::move(result.strategies[i])); }, threads);
  if (out.strategies.empty() && out.complete) find_extremes(job, spec, threads, stop, out);
  if (spec.objective == SearchObjective::pareto) return out;
  if (out.strategies.size() > 1) out.other_layout = out.strategies[1];
  const auto asked = std::min(out.strategies.size(), static_cast<std::size_t>(spec.top));
  out.strategies.erase(out.strategies.begin() + static_cast<std::ptrdiff_t>(asked), out.strategies.end());
  return out;
}

std::optional<SearchOutcome> best_in_time(const Job& job, SearchSpec spec, int threads, const SearchStop& stop) {
  if (stop()) return std::nullopt;
  spec.top = 1;
  return search_and_simulate(job, spec, threads, {}, stop);
}

}  // namespace mirfak
