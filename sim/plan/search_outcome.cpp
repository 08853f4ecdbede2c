#include "plan/search_outcome.hpp"

#include "base/parallel.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

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

}  // namespace

SearchOutcome search_and_simulate(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress) {
  const auto started = std::chrono::steady_clock::now();
  SearchResult result = search(job, spec, threads, progress);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  SearchOutcome out;
  out.funnel = std::move(result.funnel);
  out.min_shortage_bytes = result.min_shortage_bytes;
  out.search_time_s = took.count();
  out.strategies.resize(result.strategies.size(), {{job, 0, 0, 0, {}}, {}, 0});
  parallel_for(
      result.strategies.size(), [&](std::size_t i) { out.strategies[i] = simulated(std::move(result.strategies[i])); },
      threads);
  if (!out.strategies.empty() && spec.objective != SearchObjective::pareto) {
    out.other_layout = best_of_another_layout(job, spec, out.strategies, threads);
  }
  return out;
}

}  // namespace mirfak
