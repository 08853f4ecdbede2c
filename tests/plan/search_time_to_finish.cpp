// The whole training: who is done first, where more nodes fail more often.

#include "exact_search.hpp"

#include "base/units.hpp"
#include "training/expected_finish.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// Nodes that fail so often, a long restart and checkpoints that take a while.
Operations failing(double rate_per_node_day, const Cluster& whole) {
  Operations operations;
  operations.iterations = 1'000'000;
  FailureCause cause;
  cause.name = "node";
  cause.nodes = 1;
  cause.per = FailureUnit::node;
  cause.rate_per_s = rate_per_node_day * whole.nodes() / kSecondsPerDay;
  operations.failures.causes = {cause};
  operations.restart_s = 600;
  operations.storage = CheckpointPlan();
  operations.storage->write_s = 20;
  return operations;
}

SearchSpec asked_of(const SmallSpace& of, double rate_per_node_day, bool any_count) {
  SearchSpec spec;
  spec.space = of.space;
  spec.objective = SearchObjective::finish;
  spec.any_count = any_count;
  spec.finish = [job = of.job, operations = failing(rate_per_node_day, of.job.cluster)](const Cluster& used) {
    Job own = job;
    own.cluster = used;
    return ExpectedFinish(own, on_nodes(operations, job.cluster, used));
  };
  return spec;
}

}  // namespace

TEST_CASE("a search for the first end finds what simulating every strategy on every number of nodes finds") {
  const SmallSpace of = two_node_types();
  const std::vector<JudgedStrategy> all = simulate_choices(of, true);
  std::size_t largest = 0;  // of answers, on all nodes
  std::size_t answers = 0;
  for (const double rate : {0.0, 20.0, 100.0, 300.0}) {
    CAPTURE(rate);
    SearchSpec spec = asked_of(of, rate, true);
    for (const double headroom : {0.05, 0.2}) {
      spec.headroom = headroom;
      for (const int top : {1, 5}) {
        spec.top = top;
        const SearchResult found = search(of.job, spec);
        check_same(found, best_of(all, spec));
        for (const FoundStrategy& one : found.strategies) {
          CHECK(one.finish_s == spec.finish(one.job.cluster).at(one.iteration_time_s));
          largest += one.job.cluster.nodes() == of.job.cluster.nodes() ? 1 : 0;
          ++answers;
        }
      }
    }
  }
  CHECK(largest > 0);
  CHECK(largest < answers);
}

TEST_CASE("the fastest iteration is done later where its nodes fail too often") {
  const SmallSpace of = two_node_types();
  const auto found = [&](double rate, SearchObjective objective) {
    SearchSpec spec = asked_of(of, rate, true);
    spec.objective = objective;
    return search(of.job, spec).strategies.front();
  };
  constexpr double often = 300;  // a node every five minutes: so short are restarts
  const FoundStrategy fastest = found(often, SearchObjective::time);
  const FoundStrategy first = found(often, SearchObjective::finish);
  CHECK(first.iteration_time_s > fastest.iteration_time_s);
  CHECK(first.finish_s < fastest.finish_s);
  CHECK(first.job.cluster.nodes() < fastest.job.cluster.nodes());
  // Both objectives find the same where nothing fails.
  CHECK(found(0, SearchObjective::finish).iteration_time_s == found(0, SearchObjective::time).iteration_time_s);
}

TEST_CASE("where next to nothing lasts anywhere, nothing is found") {
  const SmallSpace of = two_node_types();
  CHECK(search(of.job, asked_of(of, 1e9, true)).strategies.empty());
}
