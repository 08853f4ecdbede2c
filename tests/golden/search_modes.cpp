// The three modes of Astra (arXiv 2502.13480), scenarios/papers/astra, on clusters small enough to simulate all that
// fits: GPUs of one type, of several, and a free choice of their number for money. Nothing that was measured is
// compared.

#include "plan/search.hpp"
#include "scenario/search_scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

using Overrides = std::vector<std::string>;

const Overrides kSmallJob = {
    "model=llama2-7b", "training.global_batch=64", "training.tokens=1e11",
    "search.space={tensor: [1, 2, 4], context: [1], pipeline: [1, 2, 4], virtual_pipeline: [1, 2], "
    "micro_batch: [1, 2], recompute: [none, full], recompute_layers: [all], "
    "recompute_method: [block], overlap_tensor: [false], overlap_grad_reduce: [true], overlap_param_gather: [false], "
    "uneven_layers: 0, uneven_end_chunks: 0}"};

SearchScenario astra(const std::string& file, Overrides overrides) {
  const std::filesystem::path source = source_root();
  overrides.insert(overrides.begin(), kSmallJob.begin(), kSmallJob.end());
  return load_search(source / "scenarios" / "papers" / "astra" / file, overrides,
                     DataFolders{source / "models", source / "hw_profiles"});
}

FoundStrategy best_of(const SearchScenario& scenario, bool exhaustive) {
  SearchSpec spec = scenario.search.spec;
  spec.exhaustive = exhaustive;
  const SearchResult result = search(scenario.job, spec);
  REQUIRE(!result.strategies.empty());
  return result.strategies.front();
}

FoundStrategy fastest_on(const std::string& nodes, int count) {
  return best_of(
      astra("homogeneous.yaml", {"cluster.nodes[0].type=" + nodes, "cluster.nodes[0].count=" + std::to_string(count)}),
      true);
}

bool no_worse(const FoundStrategy& one, const FoundStrategy& other) {
  return one.iteration_time_s <= other.iteration_time_s && one.cost_usd <= other.cost_usd &&
         one.energy_j <= other.energy_j;
}

}  // namespace

TEST_CASE("Astra's first mode: the fastest on GPUs of one type is that of all that fit") {
  const SearchScenario scenario = astra("homogeneous.yaml", {"cluster.nodes[0].count=2"});
  const FoundStrategy found = best_of(scenario, false);
  const FoundStrategy all = best_of(scenario, true);
  CHECK(found.iteration_time_s == all.iteration_time_s);
  CHECK(found.job.strategy == all.job.strategy);
}

TEST_CASE("Astra's second mode: of two types likewise, and faster than on the faster type's GPUs alone") {
  const SearchScenario scenario = astra(
      "heterogeneous.yaml", {"cluster.nodes[0].count=1", "cluster.nodes[1].count=1", "search.space.micro_batch=[1]"});
  const FoundStrategy found = best_of(scenario, false);
  CHECK(found.iteration_time_s == best_of(scenario, true).iteration_time_s);
  CHECK(found.job.strategy.ranks() == 16);
  CHECK(found.iteration_time_s < fastest_on("hgx-h100", 1).iteration_time_s);
}

TEST_CASE("Astra's third mode: the Pareto set has the first mode's fastest, and nothing that could be had beats it") {
  const Overrides caps = {"cluster.nodes[0].count=2", "cluster.nodes[1].count=2"};
  const SearchScenario scenario = astra("cost.yaml", caps);
  const std::vector<FoundStrategy> set = search(scenario.job, scenario.search.spec).strategies;
  REQUIRE(set.size() > 1);
  CHECK(set.front().iteration_time_s == fastest_on("hgx-h100", 2).iteration_time_s);
  for (const FoundStrategy& one : set) {
    CHECK(std::count_if(set.begin(), set.end(), [&](const FoundStrategy& other) { return no_worse(other, one); }) == 1);
  }
  for (const char* nodes : {"hgx-h100", "dgx-a100-80g"}) {
    for (const int count : {1, 2}) {
      const FoundStrategy alone = fastest_on(nodes, count);
      INFO(nodes << " x " << count);
      CHECK(std::any_of(set.begin(), set.end(), [&](const FoundStrategy& one) { return no_worse(one, alone); }));
    }
  }
}

TEST_CASE("Astra's third mode: a budget chooses the fastest of the set that it pays") {
  const Overrides caps = {"cluster.nodes[0].count=2", "cluster.nodes[1].count=2"};
  const SearchScenario scenario = astra("cost.yaml", caps);
  const std::vector<FoundStrategy> set = search(scenario.job, scenario.search.spec).strategies;
  REQUIRE(set.size() > 1);
  CHECK(set[1].cost_usd < set[0].cost_usd);
  SearchSpec paid = scenario.search.spec;
  paid.objective = SearchObjective::time;
  paid.budget_usd = set[1].cost_usd;
  const std::vector<FoundStrategy> chosen = search(scenario.job, paid).strategies;
  REQUIRE(!chosen.empty());
  CHECK(chosen.front().iteration_time_s == set[1].iteration_time_s);
}
