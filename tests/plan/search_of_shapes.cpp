// Stages with a shape of their own, and what else of stages a strategy fixes: a search finds what simulating every
// strategy would, to the last bit.

#include "brute_force.hpp"
#include "exact_search.hpp"
#include "small_spaces.hpp"

#include "model/model_loader.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

using namespace mirfak;
using namespace mirfak::test;

TEST_CASE("chunks that the strategy fixes are found as listed ones are") {
  const Job job = small_job(small_model(4, 1024, false), small_cluster("dgx-a100-80g", 1), "megatron-core", 16);
  SearchSpec spec;
  spec.space = smallest_space();
  spec.space.pipeline = spec.space.virtual_pipeline = {2};
  spec.space.schedule = default_space(job.model, job.training, job.framework).schedule;
  const SearchResult listed = search(job, spec);
  spec.space.others.virtual_pipeline = 2;
  const SearchResult fixed = search(job, spec);
  REQUIRE_FALSE(listed.strategies.empty());
  REQUIRE(fixed.strategies.size() == listed.strategies.size());
  CHECK(fixed.strategies.front().job.strategy == listed.strategies.front().job.strategy);
}

namespace {

std::int64_t shaped(const std::vector<FoundLayout>& layouts) {
  return std::count_if(layouts.begin(), layouts.end(),
                       [](const FoundLayout& of) { return !of.best.strategy.stages.empty(); });
}

// A slow type whose memory asks for tensor ranks, beside a fast one that is better off without.
SmallSpace unlike_types() {
  constexpr double kGB = 1e9;
  const Cluster fast = small_cluster("dgx-a100-80g", 1, 4 * kGB);
  const Cluster slow = small_cluster("jean-zay-v100-16g", 2, 2.6 * kGB);
  const Cluster both({fast.groups().front(), slow.groups().front()}, fast.fabric());
  SmallSpace out{"stages of their own shape", small_job(small_model(8, 1024, false), both, "megatron-core", 32),
                 smallest_space()};
  out.job.training.precision = "fp16";
  out.space.stages = StageShapes::by_type;
  out.space.tensor = {1, 4};
  out.space.pipeline = {1, 2, 3};
  out.space.micro_batch = {1, 2};
  out.space.uneven_layers = 1;
  out.space.sequence_parallel = {false, true};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.zero = {0, 1};
  return out;
}

SmallSpace unlike_types_of_experts() {
  SmallSpace out = unlike_types();
  out.name = "stages of their own shape, with experts";
  out.job.model = small_model(4, 1024, false, 8);
  out.space.tensor = {1, 2};
  out.space.expert = {1, 4};
  out.space.expert_tensor = {0, 1};
  out.space.micro_batch = {1};
  out.space.sequence_parallel = {true};
  out.space.recompute = {Recompute::none};
  return out;
}

// Simulates all of a cluster, its types in every order.
std::vector<JudgedStrategy> simulate_orders(const SmallSpace& of) {
  std::vector<std::size_t> order(of.job.cluster.groups().size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<JudgedStrategy> all;
  bool first = true;
  do {
    std::vector<NodeAllotment> nodes;
    for (const std::size_t type : order) nodes.emplace_back(of.job.cluster.groups()[type]);
    Job job = of.job;
    job.cluster = Cluster(std::move(nodes), of.job.cluster.fabric());
    const std::vector<JudgedStrategy> more = simulate_all(job, of.space, first);
    all.insert(all.end(), more.begin(), more.end());
    first = false;
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

// Every objective, with limits that a part of the strategies keeps.
std::vector<SearchSpec> questions_of(const SmallSpace& of, const std::vector<JudgedStrategy>& all, bool any_count) {
  std::vector<SearchSpec> out;
  for (const SearchObjective objective :
       {SearchObjective::time, SearchObjective::cost, SearchObjective::energy, SearchObjective::pareto}) {
    SearchSpec spec;
    spec.space = of.space;
    spec.objective = objective;
    spec.any_count = any_count;
    out.push_back(spec);
    spec.deadline_s = quantile(all, time_s, 30);
    out.push_back(spec);
    spec.deadline_s = 0;
    spec.budget_usd = quantile(all, cost_usd, 30);
    spec.headroom = 0.2;
    out.push_back(spec);
  }
  return out;
}

// Asks each question of a space from the search and of all that was simulated; returns how many of the layouts
// that are answers have stages of their own shape.
std::int64_t shaped_answers(const SmallSpace& of, const std::vector<JudgedStrategy>& all, bool any_count) {
  std::int64_t out = 0;
  for (const SearchSpec& spec : questions_of(of, all, any_count)) {
    CAPTURE(static_cast<int>(spec.objective));
    CAPTURE(spec.deadline_s);
    CAPTURE(spec.budget_usd);
    const std::vector<FoundLayout> expected = best_of(all, spec);
    out += shaped(expected);
    check_same(search(of.job, spec), expected);
  }
  return out;
}

}  // namespace

TEST_CASE("stages with a shape for each type of nodes: a search finds what simulating every strategy finds") {
  for (const SmallSpace& of : {unlike_types(), unlike_types_of_experts()}) {
    CAPTURE(of.name);
    const std::vector<JudgedStrategy> any = simulate_choices(of, true);
    std::vector<JudgedStrategy> whole = any;
    std::erase_if(whole, [&](const JudgedStrategy& judged) { return judged.cluster.gpus() < of.job.cluster.gpus(); });
    MESSAGE(of.name << ": " << whole.size() << " valid on all nodes, " << any.size() << " on any");
    const std::int64_t with_shapes = shaped_answers(of, whole, false) + shaped_answers(of, any, true);
    CHECK(with_shapes > 0);
  }
}

// Some shapes of three types stand beside each other in some orders only.
TEST_CASE("stages with a shape for each of three types of nodes") {
  SmallSpace of = unlike_types();
  const Cluster first = small_cluster("dgx-a100-80g", 1);
  const Cluster second = small_cluster("jean-zay-v100-32g", 1);
  const Cluster third = small_cluster("jean-zay-v100-16g", 3);
  of.job.cluster = Cluster({first.groups().front(), second.groups().front(), third.groups().front()}, first.fabric());
  of.job.training.global_batch = 48;
  of.space.tensor = {1, 2};
  of.space.pipeline = {3};
  of.space.micro_batch = {1};
  of.space.sequence_parallel = {false};
  of.space.recompute = {Recompute::none};
  of.space.zero = {0};
  const std::vector<JudgedStrategy> all = simulate_orders(of);
  MESSAGE(all.size() << " valid");
  CHECK(shaped_answers(of, all, false) > 0);
}

TEST_CASE("a power cap on stages with a shape for each type of nodes") {
  SmallSpace of = unlike_types();
  of.space.micro_batch = {1};
  of.space.sequence_parallel = {false};
  of.space.recompute = {Recompute::none};
  std::vector<JudgedStrategy> all = simulate_choices(of, false);
  std::erase_if(all, [](const JudgedStrategy& judged) { return judged.free < 0; });
  SearchSpec spec;
  spec.space = of.space;
  spec.power_cap_w = quantile(all, power_w, 40);
  const std::vector<FoundLayout> expected = best_of(keeping_cap(all, spec.power_cap_w), spec);
  CHECK(shaped(expected) > 0);
  check_same(search(of.job, spec), expected);
}

TEST_CASE("where shapes may differ, what is alike is found as before") {
  SmallSpace of = unlike_types();
  SearchSpec spec;
  spec.space = of.space;
  spec.top = 1000;
  const SearchResult both = search(of.job, spec);
  spec.space.stages = StageShapes::alike;
  const SearchResult alike = search(of.job, spec);
  REQUIRE(alike.strategies.size() < both.strategies.size());
  std::size_t next = 0;
  for (const FoundStrategy& found : both.strategies) {
    if (!found.job.strategy.stages.empty()) continue;
    REQUIRE(next < alike.strategies.size());
    CHECK(found.job.strategy == alike.strategies[next].job.strategy);
    CHECK(found.iteration_time_s == alike.strategies[next++].iteration_time_s);
  }
  CHECK(next == alike.strategies.size());
}

TEST_CASE("stages that the strategy fixes: the rest is found as simulating it finds") {
  SmallSpace of = unlike_types();
  of.space.stages = StageShapes::fixed;
  of.space.others.stages = {{1, 4, 1}, {2, 2, 1}, {4, 2, 1}};
  of.space.others.tensor = 1;
  of.space.others.data = 4;
  of.space.others.pipeline = 3;
  const std::vector<JudgedStrategy> all = simulate_all(of.job, of.space);
  REQUIRE(all.size() > 20);
  for (const SearchSpec& spec : questions_of(of, all, false)) {
    CAPTURE(static_cast<int>(spec.objective));
    check_same(search(of.job, spec), best_of(all, spec));
  }
}

// T5 has one stream in the encoder and two in the decoder, Wide-ResNet less in each group of blocks than in the one
// before.
TEST_CASE("models whose stages exchange more here than there") {
  for (const char* name : {"t5-3b", "wide-resnet-1b"}) {
    CAPTURE(std::string(name));
    SmallSpace of{
        name,
        small_job(load_model(name, source_root() + "/models", {}), small_cluster("a40-pcie-8", 1), "megatron-core", 32),
        smallest_space()};
    of.space.pipeline = {4};
    of.space.micro_batch = {2, 4};
    of.space.uneven_layers = 2;
    const std::vector<JudgedStrategy> all = simulate_all(of.job, of.space);
    MESSAGE(of.name << ": " << all.size() << " valid");
    SearchSpec spec;
    spec.space = of.space;
    const std::vector<FoundLayout> expected = best_of(all, spec);
    CHECK(expected.size() == 1);
    check_same(search(of.job, spec), expected);
  }
}
