// A search drops strategies by bounds and finds what simulating every strategy of the space would, to the last bit.

#include "brute_force.hpp"
#include "exact_search.hpp"
#include "small_spaces.hpp"

#include "base/document.hpp"
#include "energy/clock_plan.hpp"
#include "energy/frontier.hpp"
#include "energy/scenario_clocks.hpp"
#include "program/replica_classes.hpp"
#include "strategy/rule_fields.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr std::size_t kMostAtEveryClock = 130;

struct Case {
  SmallSpace space;
  std::vector<JudgedStrategy> all;
  double power_cap_w = 0;              // that most strategies keep; 0: it has too many to simulate at every clock
  std::vector<JudgedStrategy> capped;  // all that fit and keep it at some clock

  const std::vector<JudgedStrategy>& at_clocks_of(const SearchSpec& spec) const {
    REQUIRE((spec.power_cap_w == 0 || spec.power_cap_w == power_cap_w));
    return spec.power_cap_w == 0 ? all : capped;
  }
  std::int64_t fitting(double headroom = 0) const {
    return std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.free >= headroom; });
  }
};

// The cases, simulated once for all tests.
const std::vector<Case>& cases() {
  static const std::vector<Case> known = [] {
    std::vector<Case> out;
    for (SmallSpace& space : small_spaces()) {
      std::vector<JudgedStrategy> all = simulate_all(space.job, space.space);
      std::vector<JudgedStrategy> fitting;
      std::copy_if(all.begin(), all.end(), std::back_inserter(fitting),
                   [](const JudgedStrategy& judged) { return judged.free >= 0; });
      const bool small = fitting.size() <= kMostAtEveryClock;
      const double cap_w = small ? quantile(all, power_w, 60) : 0;
      if (small) fitting = keeping_cap(fitting, cap_w);
      out.push_back({std::move(space), std::move(all), cap_w, std::move(fitting)});
    }
    return out;
  }();
  return known;
}

// Objectives, and limits that about half of the strategies keep.
std::vector<SearchSpec> questions(const Case& of) {
  SearchSpec plain;
  plain.space = of.space.space;
  std::vector<SearchSpec> out;
  for (const SearchObjective objective :
       {SearchObjective::time, SearchObjective::cost, SearchObjective::energy, SearchObjective::pareto}) {
    out.push_back(plain);
    out.back().objective = objective;
  }
  out.push_back(plain);
  out.back().top = 1;
  out.push_back(plain);
  out.back().objective = SearchObjective::energy;
  out.back().deadline_s = quantile(of.all, time_s, 50);
  out.push_back(plain);
  out.back().budget_usd = quantile(of.all, cost_usd, 50);
  if (of.power_cap_w == 0) return out;
  out.push_back(plain);
  out.back().power_cap_w = of.power_cap_w;
  out.push_back(out.back());
  out.back().objective = SearchObjective::pareto;
  return out;
}

std::int64_t count(const SearchResult& result, std::string_view step) {
  const auto found = std::find_if(result.funnel.begin(), result.funnel.end(),
                                  [&](const FunnelStep& each) { return each.name == step; });
  REQUIRE(found != result.funnel.end());
  return found->count;
}

}  // namespace

TEST_CASE("the small spaces have strategies that fit, and some that do not") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    MESSAGE(each.space.name << ": " << each.all.size() << " valid, " << each.fitting() << " fit");
    CHECK(each.fitting() >= 20);
    CHECK(each.fitting() < static_cast<std::int64_t>(each.all.size()));
  }
}

TEST_CASE("a search finds what simulating every strategy finds, for every objective and limit") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    for (const SearchSpec& spec : questions(each)) {
      CAPTURE(static_cast<int>(spec.objective));
      CAPTURE(spec.deadline_s);
      CAPTURE(spec.budget_usd);
      CAPTURE(spec.power_cap_w);
      check_same(search(each.space.job, spec), best_of(each.at_clocks_of(spec), spec));
    }
  }
}

TEST_CASE("as many layouts are found as asked for, each once, with variants that are no further from it") {
  bool with_variants = false;
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    for (const int top : {1, 2, 3, 1000}) {
      CAPTURE(top);
      SearchSpec spec;
      spec.space = each.space.space;
      spec.top = top;
      const SearchResult found = search(each.space.job, spec);
      check_same(found, best_of(each.at_clocks_of(spec), spec));
      for (const FoundStrategy& strategy : found.strategies) {
        with_variants = with_variants || !strategy.variants.empty();
        for (const FoundStrategy& variant : strategy.variants) CHECK(variant.variants.empty());
      }
      CHECK((top > 1 || found.strategies.front().variants.empty()));
    }
  }
  CHECK(with_variants);
}

TEST_CASE("a search keeps the headroom free that it is asked for, and none of what keeps it is lost") {
  std::int64_t lost = 0;
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    for (const double headroom : {0.0, 0.05, 0.2}) {
      CAPTURE(headroom);
      SearchSpec spec;
      spec.space = each.space.space;
      spec.headroom = headroom;
      check_same(search(each.space.job, spec), best_of(each.at_clocks_of(spec), spec));
    }
    lost += each.fitting() - each.fitting(0.05);
    CHECK(each.fitting(0.05) >= 10);
    CHECK(each.fitting(0.2) < each.fitting(0.05));
  }
  CHECK(lost > 0);
}

TEST_CASE("a search holds back exactly what fits with less than the probability that it is asked for") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    std::int64_t before = each.fitting();
    for (const double probability : {0.5, 0.9, 0.99}) {
      CAPTURE(probability);
      SearchSpec spec;
      spec.space = each.space.space;
      spec.headroom = 0;
      spec.fit_probability = probability;
      check_same(search(each.space.job, spec), best_of(each.all, spec));
      spec.exhaustive = true;
      const std::int64_t fitting = std::count_if(each.all.begin(), each.all.end(), [&](const JudgedStrategy& judged) {
        return judged.free >= 0 && judged.chance >= probability;
      });
      CHECK(count(search(each.space.job, spec), "simulated") == fitting);
      CHECK(fitting > 0);
      CHECK(fitting <= before);
      before = fitting;
    }
    CHECK(before < each.fitting());
  }
}

TEST_CASE("where nothing fits with the probability, that of the nearest is told") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.top = 1;
    spec.headroom = 0;
    double most = 0;
    for (const JudgedStrategy& judged : each.all) most = std::max(most, judged.chance);
    // A job whose widths are so large that nothing fits for sure.
    Job job = each.space.job;
    job.ranges.memory.device.platform_above_bytes = 1e12;
    job.framework.memory.caching_allocator =
        false;  // pieces of its memory are counted of strategies that are simulated
    spec.fit_probability = 0.9;
    const SearchResult none = search(job, spec);
    CHECK(none.strategies.empty());
    REQUIRE(none.nearest_fit_probability);
    CHECK(*none.nearest_fit_probability > 0);
    CHECK(*none.nearest_fit_probability < 0.9);
    spec.fit_probability = *none.nearest_fit_probability - 1e-9;
    // Hosts that keep optimizer state may lack memory besides.
    if (each.space.space.offload_optimizer.size() == 1) CHECK(search(job, spec).strategies.size() == 1);
    CHECK(most > *none.nearest_fit_probability);
  }
}

TEST_CASE("where nothing keeps the headroom, the most that something could keep is told") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.top = 1;
    double most = 0;
    for (const JudgedStrategy& judged : each.all) most = std::max(most, judged.free);
    const Cluster& nodes = each.space.job.cluster;
    const double capacity = nodes.groups().front().hardware.gpu.memory_bytes.value;
    const bool alike = nodes.groups().size() == 1 && each.space.space.offload_optimizer.size() == 1;
    // With the largest headroom, bounds of branches and pipelines exclude almost everything.
    for (const double headroom : {most + 0.01, most + 0.3 * (1 - most), 0.99}) {
      CAPTURE(headroom);
      spec.headroom = headroom;
      const SearchResult none = search(each.space.job, spec);
      CHECK(none.strategies.empty());
      REQUIRE(none.headroom_that_fits);
      CHECK(*none.headroom_that_fits == doctest::Approx(most).epsilon(1e-9));
      if (alike) CHECK(none.min_shortage_bytes == doctest::Approx((headroom - most) * capacity).epsilon(1e-9));
      spec.headroom = *none.headroom_that_fits - 1e-9;
      CHECK(search(each.space.job, spec).strategies.size() == 1);
    }
  }
}

TEST_CASE("a search that bounds nothing simulates each strategy that fits, and finds the same") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    for (const SearchObjective objective : {SearchObjective::time, SearchObjective::pareto}) {
      SearchSpec spec;
      spec.space = each.space.space;
      spec.objective = objective;
      spec.exhaustive = true;
      const SearchResult found = search(each.space.job, spec);
      check_same(found, best_of(each.at_clocks_of(spec), spec));
      CHECK(count(found, "simulated") == each.fitting(spec.headroom));
      CHECK(count(found, "after bounds") == each.fitting(spec.headroom));
      // A branch of which nothing can fit counts before the rules are asked of it.
      CHECK(count(found, "after rules") >= static_cast<std::int64_t>(each.all.size()));
    }
  }
}

TEST_CASE("a search finds the best of what a program does not refuse, wherever it is asked") {
  const auto of_branch = [](const Strategy& strategy) { return strategy.tensor > 1 && strategy.micro_batch > 1; };
  const auto of_strategy = [](const Strategy& strategy) {
    return strategy.zero == 1 && strategy.recompute == Recompute::full;
  };
  const auto of_pipeline = [](const Strategy& strategy) {
    return strategy.recompute == Recompute::selective && strategy.recompute_layers == 1;
  };
  const auto of_job = [](const Job& job) { return job.strategy.pipeline > 1 && job.strategy.overlap_grad_reduce; };
  std::int64_t refused = 0;
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.refusals = {of_branch, of_pipeline, of_strategy, of_job};
    std::vector<JudgedStrategy> allowed;
    for (const JudgedStrategy& judged : each.all) {
      Job job = *judged.job;
      job.strategy = judged.strategy;
      const bool refuses =
          of_branch(judged.strategy) || of_pipeline(judged.strategy) || of_strategy(judged.strategy) || of_job(job);
      refused += refuses ? 1 : 0;
      if (!refuses) allowed.push_back(judged);
    }
    check_same(search(each.space.job, spec), best_of(allowed, spec));
  }
  CHECK(refused > 0);
}

TEST_CASE("a search with rules of the user finds the best of what keeps them") {
  // Rules for layouts, for blocks, for pipelines, and for what comes last in the tree.
  const Document document = Document::from_text(
      "rules: ['tensor * pipeline <= 4', \"not (recompute == 'full' and micro_batch > 1)\", "
      "'virtual_pipeline == 1 or recompute_layers != 1', 'recompute_layers <= 1 or zero == 1']",
      "rules");
  std::vector<formula::Condition> rules;
  for (const Node& rule : Mapping(Node(document)).require("rules").as_items()) {
    rules.push_back(parse_rule(rule));
  }
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    const Job& job = each.space.job;
    SearchSpec spec;
    spec.space = each.space.space;
    spec.rules = rules;
    std::vector<JudgedStrategy> kept;
    for (const JudgedStrategy& judged : each.all) {
      const RuleFields fields =
          read_rule_fields({job.model, job.training, job.framework, judged.strategy, job.cluster.gpus()}, 8);
      if (std::all_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.holds(fields.values()); })) {
        kept.push_back(judged);
      }
    }
    CHECK(kept.size() < each.all.size());
    check_same(search(job, spec), best_of(kept, spec));
  }
}

namespace {

// A space of two types at about the same price for a FLOP: mixes are among the cheapest.
SmallSpace alike_in_price() {
  SmallSpace of = two_node_types();
  const NodeGroup slow = of.job.cluster.groups()[0];
  NodeGroup fast = of.job.cluster.groups()[1];
  fast.price->usd_per_gpu_hour.value *= 1.9;
  of.job.cluster = Cluster({slow, fast}, of.job.cluster.fabric());
  return of;
}

// A search for any number of nodes, for each objective.
std::vector<SearchSpec> searches_for_nodes(const SmallSpace& of) {
  std::vector<SearchSpec> out;
  for (const SearchObjective objective :
       {SearchObjective::time, SearchObjective::cost, SearchObjective::energy, SearchObjective::pareto}) {
    SearchSpec& spec = out.emplace_back();
    spec.space = of.space;
    spec.objective = objective;
    spec.any_count = true;
  }
  return out;
}

}  // namespace

// Limits are such that some choices of nodes keep them whole, some in part and some not at all.
TEST_CASE("nodes to use: a search finds what simulating each number of them finds") {
  const SmallSpace of = alike_in_price();
  const std::vector<JudgedStrategy> all = simulate_choices(of, true);
  for (const SearchSpec& plain : searches_for_nodes(of)) {
    CAPTURE(static_cast<int>(plain.objective));
    std::vector<SearchSpec> asked(5, plain);
    asked[1].deadline_s = quantile(all, time_s, 20);
    asked[2].budget_usd = quantile(all, cost_usd, 20);
    asked[3].headroom = 0;
    asked[4].headroom = 0.2;
    for (const SearchSpec& spec : asked) {
      CAPTURE(spec.deadline_s);
      CAPTURE(spec.budget_usd);
      CAPTURE(spec.headroom);
      check_same(search(of.job, spec), best_of(all, spec));
    }
  }
}

// Choices that change power little are left out: each strategy is simulated at up to sixty clocks.
TEST_CASE("nodes to use under a power cap: a search finds what simulating each number of them at each clock finds") {
  SmallSpace of = alike_in_price();
  of.job.training.global_batch = 16;
  of.space.uneven_layers = 1;
  of.space.recompute = {Recompute::full};
  std::vector<JudgedStrategy> all = simulate_choices(of, true);
  const double cap_w = quantile(all, power_w, 60);
  const double lower_cap_w = quantile(all, power_w, 30);
  const double deadline_s = quantile(all, time_s, 50);
  std::erase_if(all, [](const JudgedStrategy& judged) { return judged.free < 0; });
  const std::vector<JudgedStrategy> capped = keeping_cap(all, cap_w);
  const std::vector<JudgedStrategy> capped_lower = keeping_cap(capped, lower_cap_w);
  MESSAGE(all.size() << " fit, " << capped.size() << " keep the cap, " << capped_lower.size() << " the lower one");
  for (const SearchSpec& plain : searches_for_nodes(of)) {
    CAPTURE(static_cast<int>(plain.objective));
    std::vector<SearchSpec> asked(3, plain);
    asked[0].power_cap_w = lower_cap_w;
    asked[1].power_cap_w = cap_w;
    asked[2].power_cap_w = cap_w;
    asked[2].deadline_s = deadline_s;
    for (const SearchSpec& spec : asked) {
      CAPTURE(spec.deadline_s);
      CAPTURE(spec.power_cap_w);
      const std::vector<FoundLayout> expected = best_of(spec.power_cap_w == cap_w ? capped : capped_lower, spec);
      CHECK(!expected.empty());
      check_same(search(of.job, spec), expected);
    }
  }
}

TEST_CASE("a frozen reference beside the model: a search finds what simulating every strategy finds") {
  constexpr double kGB = 1e9;
  SmallSpace of{"compared answers on one node",
                small_job(small_model(4, 1024, true), small_cluster("dgx-a100-80g", 1, 4 * kGB), "deepspeed", 16),
                smallest_space()};
  of.job.training.preferences = {2, Reference::model};
  of.space.tensor = {1, 2};
  of.space.pipeline = {1, 2};
  of.space.micro_batch = {1, 2};
  of.space.recompute = {Recompute::none, Recompute::full};
  of.space.zero = {1, 3};
  const std::vector<JudgedStrategy> all = simulate_all(of.job, of.space);
  CHECK(std::all_of(all.begin(), all.end(), [](const auto& one) { return one.strategy.pipeline == 1; }));
  CHECK(std::any_of(all.begin(), all.end(), [](const auto& one) { return one.free < 0; }));
  for (const SearchObjective objective : {SearchObjective::time, SearchObjective::energy, SearchObjective::pareto}) {
    CAPTURE(static_cast<int>(objective));
    SearchSpec spec;
    spec.space = of.space;
    spec.objective = objective;
    const std::vector<FoundLayout> expected = best_of(all, spec);
    CHECK(!expected.empty());
    check_same(search(of.job, spec), expected);
  }
}

TEST_CASE("two types with ranks numbered replica by replica: a search finds what simulating every strategy finds") {
  SmallSpace of = two_node_types();
  of.space.others.rank_order = of.job.strategy.rank_order = RankOrder::data_last;
  const NodeGroup one = of.job.cluster.groups()[0];
  const NodeGroup other = of.job.cluster.groups()[1];
  std::vector<JudgedStrategy> all;
  add_simulated(of, {one, other}, true, all);
  add_simulated(of, {other, one}, false, all);
  for (const SearchObjective objective : {SearchObjective::time, SearchObjective::cost, SearchObjective::energy}) {
    CAPTURE(static_cast<int>(objective));
    SearchSpec spec;
    spec.space = of.space;
    spec.objective = objective;
    check_same(search(of.job, spec), best_of(all, spec));
  }
}

TEST_CASE(
    "nodes of two kinds of GPU: a search finds what simulating every strategy finds, with the nodes as they are") {
  SmallSpace of = two_node_types();
  NodeAllotment one = of.job.cluster.groups()[1];
  one.count = 1;
  one.hardware.spec.part = {0, 4};
  NodeAllotment other = one;
  other.hardware.gpu = of.job.cluster.groups()[0].hardware.gpu;
  other.hardware.spec.part = {4, 4};
  other.hardware.spec.entry = 1;
  for (const int nodes : {1, 2}) {
    CAPTURE(nodes);
    std::vector<NodeAllotment> kinds = {one, other};
    if (nodes == 2) kinds.insert(kinds.end(), {one, other});
    of.job.cluster = Cluster(kinds, of.job.cluster.fabric());
    std::vector<JudgedStrategy> all;
    add_simulated(of, kinds, true, all);
    for (const SearchObjective objective : {SearchObjective::time, SearchObjective::cost, SearchObjective::energy}) {
      CAPTURE(static_cast<int>(objective));
      SearchSpec spec;
      spec.space = of.space;
      spec.objective = objective;
      const std::vector<FoundLayout> expected = best_of(all, spec);
      CHECK(!expected.empty());
      check_same(search(of.job, spec), expected);
    }
  }
}

TEST_CASE("a mix has blocks that run on all of it, whatever each type runs alone") {
  // V100 has no fused attention, so neither has a mix with it; the A100 alone has.
  SmallSpace of = two_node_types();
  const NodeGroup newer = small_cluster("dgx-a100-80g", 1).groups().front();
  const NodeGroup older = small_cluster("jean-zay-v100-32g", 2).groups().front();
  of.job.training.precision = "fp16";
  of.job.cluster = Cluster({newer, older}, of.job.cluster.fabric());
  SearchSpec spec;
  spec.space = of.space;
  spec.any_count = true;
  spec.objective = SearchObjective::pareto;
  std::vector<JudgedStrategy> all;
  for (const int newers : {0, 1}) {
    for (const int olders : {0, 1, 2}) {
      NodeGroup old = older;
      old.count = olders;
      if (newers == 0 && olders > 0) add_simulated(of, {old}, true, all);
      if (newers == 1 && olders == 0) add_simulated(of, {newer}, true, all);
      if (newers == 1 && olders > 0) {
        add_simulated(of, {newer, old}, true, all);
        add_simulated(of, {old, newer}, false, all);
      }
    }
  }
  check_same(search(of.job, spec), best_of(all, spec));
}

TEST_CASE("a search that is stopped says so") {
  const Case& each = cases().front();
  SearchSpec spec;
  spec.space = each.space.space;
  const SearchResult at_once = search(each.space.job, spec, 1, {}, [] { return true; });
  CHECK_FALSE(at_once.complete);
  CHECK(at_once.strategies.empty());
  CHECK(search(each.space.job, spec).complete);
}

TEST_CASE("what a stopped search has not looked at is no better than it says") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.top = 1;
    const double best = best_of(each.at_clocks_of(spec), spec).front().best.time_s;
    int bounded = 0;
    for (const int steps : {0, 1, 4, 16, 64, 256}) {
      int left = steps;
      const SearchResult stopped = search(each.space.job, spec, 1, {}, [&] { return left-- <= 0; });
      if (stopped.complete) break;
      if (!stopped.least_possible) {
        CHECK_MESSAGE(bounded == 0, "once bounded, what is left stays so");
        continue;
      }
      ++bounded;
      CHECK(*stopped.least_possible <= best);
    }
    CHECK(bounded > 0);
  }
}

TEST_CASE("with a tolerance, nothing that is left out is better by more") {
  std::int64_t simulated = 0;  // of all spaces: in one, leaving out what is hardly better may keep what is worse longer
  std::int64_t with_tolerance = 0;
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.top = 2;
    const auto exact = best_of(each.at_clocks_of(spec), spec);
    simulated += search(each.space.job, spec).funnel.back().count;
    for (const double tolerance : {0.01, 0.1, 0.5}) {
      spec.tolerance = tolerance;
      const SearchResult found = search(each.space.job, spec);
      REQUIRE(found.strategies.size() == exact.size());
      for (std::size_t i = 0; i < exact.size(); ++i) {
        CHECK(found.strategies[i].iteration_time_s <= exact[i].best.time_s * (1 + tolerance));
      }
      if (tolerance == 0.5) with_tolerance += found.funnel.back().count;
    }
  }
  CHECK(with_tolerance < simulated);
}

TEST_CASE("a Pareto set of replicas that differ has no planned energy, and of others has one") {
  SmallSpace of = two_node_types();
  SearchSpec spec;
  spec.space = of.space;
  spec.space.pipeline = {1};
  spec.headroom = 0;  // without stages there is little room
  spec.objective = SearchObjective::pareto;
  spec.any_count = true;
  bool mixed = false;
  const auto check = [&](const SearchResult& found) {
    REQUIRE(!found.strategies.empty());
    for (const FoundStrategy& strategy : found.strategies) {
      const bool alike = replica_classes(strategy.job).size() == 1;
      mixed = mixed || !alike;
      CHECK(strategy.planned.has_value() == alike);
      if (!strategy.planned) continue;
      const ClockedProgram clocked = clocked_program(strategy.job);
      const Picoseconds longest = execute_clocks(clocked, highest_clocks(clocked)).makespan;
      const ExecutedClocks thriftiest = min_energy_plan(clocked);
      CHECK(strategy.planned->energy_j == plan_for(clocked, longest).energy_j);
      CHECK(strategy.planned->min_energy_j == thriftiest.energy_j);
      CHECK(strategy.planned->t_star_s == to_seconds(thriftiest.makespan));
    }
  };
  check(search(of.job, spec));
  spec.any_count = false;  // all nodes: without stages, replicas are on both types
  check(search(of.job, spec));
  CHECK(mixed);
}

TEST_CASE("the number of threads decides nothing, the funnel included") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.top = 3;
    const SearchResult one = search(each.space.job, spec, 1);
    const SearchResult two = search(each.space.job, spec, 2);
    check_same(one, best_of(each.at_clocks_of(spec), spec));
    check_same(two, best_of(each.at_clocks_of(spec), spec));
    REQUIRE(one.funnel.size() == two.funnel.size());
    for (std::size_t i = 0; i < one.funnel.size(); ++i) CHECK(one.funnel[i].count == two.funnel[i].count);
  }
}

TEST_CASE("a funnel narrows step by step, down to the strategies that were simulated") {
  for (const Case& each : cases()) {
    CAPTURE(each.space.name);
    SearchSpec spec;
    spec.space = each.space.space;
    spec.top = 1;
    const SearchResult found = search(each.space.job, spec);
    for (std::size_t i = 1; i < found.funnel.size(); ++i) {
      CHECK(found.funnel[i].count <= found.funnel[i - 1].count);
      CHECK(found.funnel[i].count >= 0);
    }
    CHECK(count(found, "after bounds") == count(found, "simulated"));
    CHECK(count(found, "simulated") < each.fitting());
  }
}

TEST_CASE("progress reaches every strategy of the space once") {
  const Case& each = cases().front();
  SearchSpec spec;
  spec.space = each.space.space;
  std::int64_t last = 0;
  std::int64_t in_all = 0;
  search(each.space.job, spec, 2, [&](std::int64_t done, std::int64_t total) {
    CHECK(done >= last);
    CHECK(done <= total);
    last = done;
    in_all = total;
  });
  CHECK(in_all > 0);
  CHECK(last == in_all);
}
