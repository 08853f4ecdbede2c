// Ranks that are slower than their hardware says: by hand, and folding, which follows from them.

#include "engine/execute.hpp"
#include "engine/perturbed.hpp"
#include "job_fixture.hpp"
#include "program/lowering.hpp"
#include "program/replica_classes.hpp"
#include "simulation/laws.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Perturbations perturbations_of(std::map<int, TimeFactors> ranks) {
  Perturbations out;
  out.ranks = std::move(ranks);
  return out;
}

Job with(Job job, std::map<int, TimeFactors> ranks) {
  return perturbed_by(std::move(job), perturbations_of(std::move(ranks)));
}

double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

Picoseconds makespan(const Job& job, const LoweringOptions& options) {
  const ShardedBlocks blocks = shard_blocks(job);
  const Program program = perturbed(lower(job, blocks, plan_stages(job, blocks), options), job.cluster);
  program.validate();
  return execute(program).makespan;
}

}  // namespace

TEST_CASE("where communication takes no time, one rank that takes half as long again stretches the iteration so") {
  for (const Strategy& s : {sized(1, 8, 1), sized(2, 4, 1), sized(8, 1, 1)}) {
    const Job job = free_communication(small_job(4, 1, s, 16));
    const double base = seconds(job);
    for (const int rank : {0, 5, 7}) {
      CHECK(seconds(with(job, {{rank, {.compute = 1.5, .host = 1.5}}})) == doctest::Approx(1.5 * base).epsilon(1e-6));
    }
    CHECK(seconds(with(job, {{3, {.communication = 4}}})) == doctest::Approx(base).epsilon(1e-9));
    CHECK(seconds(with(job, {{3, {.compute = 0.5, .host = 0.5}}})) == doctest::Approx(base).epsilon(1e-9));
  }
}

TEST_CASE("a slow rank of a tensor group is worth as much as a slow group") {
  // Its seven neighbours wait for it in every layer.
  const Job job = small_job(4, 1, sized(8, 1, 1), 16);
  std::map<int, TimeFactors> all;
  for (int rank = 0; rank < 8; ++rank) all[rank] = {.compute = 1.3, .host = 1.3};
  const LoweringOptions operators{true, true};
  CHECK(makespan(with(job, {{6, {.compute = 1.3, .host = 1.3}}}), operators) == makespan(with(job, all), operators));
}

TEST_CASE("folding follows from the factors: equal replicas stay one class, a slow one makes its own") {
  const Job job = small_job(8, 2, sized(1, 4, 4), 32);
  CHECK(folds(job));
  CHECK(replica_classes(job).size() == 1);
  const Job slow = with(job, {{5, {.compute = 1.25, .communication = 2}}});  // replica 1 of stage 1
  CHECK(folds(slow));
  const std::vector<ReplicaClass> classes = replica_classes(slow);
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].replicas == std::vector<int>{0, 2, 3});
  CHECK(classes[1].replicas == std::vector<int>{1});
  // Two replicas with the same factors are one class.
  CHECK(replica_classes(with(job, {{5, {.compute = 1.25}}, {6, {.compute = 1.25}}})).size() == 2);
  CHECK(replica_classes(with(job, {{5, {.compute = 1.25}}, {6, {.compute = 1.5}}})).size() == 3);
  // Half a tensor group cannot be folded, a whole one can.
  const Job tensor = small_job(8, 2, sized(2, 4, 2), 32);
  CHECK(!folds(with(tensor, {{2, {.compute = 1.25}}})));
  CHECK(folds(with(tensor, {{2, {.compute = 1.25}}, {3, {.compute = 1.25}}})));
  CHECK(simulate(with(tensor, {{2, {.compute = 1.25}}})).program.ranks.size() == 8);
  CHECK(simulate(with(tensor, {{2, {.compute = 1.25}}, {3, {.compute = 1.25}}})).program.ranks.size() == 4);
}

TEST_CASE("perturbed programs folded and unfolded take the same time to the picosecond") {
  std::vector<Job> jobs;
  for (const int zero : {0, 1, 3}) {
    Strategy s = sized(1, 8, zero == 3 ? 1 : 2);
    s.zero = zero;
    s.overlap_grad_reduce = zero == 1;
    Job job = small_job(4, 2, s, 32);
    if (zero == 3) job.framework = test::framework_named("pytorch-fsdp");
    jobs.push_back(with(job, {{3, {.compute = 1.4, .host = 2}}, {4, {.communication = 3}}}));
  }
  const TimeFactors slow{.compute = 1.2, .communication = 1.1, .host = 1.3};
  jobs.push_back(with(small_job(4, 2, sized(2, 4, 2), 32), {{4, slow}, {5, slow}}));
  for (const Job& job : jobs) {
    INFO("zero " << job.strategy.zero << " t " << job.strategy.tensor);
    REQUIRE(folds(job));
    for (const bool operators : {false, true}) {
      CHECK(makespan(job, {false, operators}) == makespan(job, {true, operators}));
    }
    CHECK(makespan(job, {}) > makespan(with(job, {}), {}));
  }
}

// Eight replicas of four ranks on each of two stages, one rank slow: two teams of each stage stand for all.
TEST_CASE("teams with a slow rank are told apart from those without") {
  const TimeFactors slow{.compute = 1.2, .communication = 1.1, .host = 1.3};
  for (const int zero_group : {0, 2, 4}) {
    Strategy s = sized(4, 8, 2);
    s.zero = zero_group > 0 ? 1 : 0;
    s.zero_group = zero_group;
    s.overlap_grad_reduce = true;
    const Job job = with(small_job(4, 8, s, 64), {{5, slow}});
    REQUIRE(!folds(job));
    const Program program = Lowered(job).program();
    CHECK(program.ranks.size() == (zero_group > 0 ? 64 : 16));  // a copy of the state has members of both kinds
    std::uint32_t ranks = 0;
    for (const ProgramRank& rank : program.ranks) ranks += rank.multiplicity;
    CHECK(ranks == 64);
    for (const bool operators : {false, true}) {
      CHECK(makespan(job, {false, operators}) == makespan(job, {true, operators}));
    }
    const IterationResult folded = simulate(job).result;
    const IterationResult unfolded = simulate(job, {true, false}).result;
    CHECK(folded.energy_j == doctest::Approx(unfolded.energy_j).epsilon(1e-12));
    CHECK(folded.bubble_fraction == doctest::Approx(unfolded.bubble_fraction).epsilon(1e-9));
  }
}

TEST_CASE("where the time of perturbed ranks goes sums to the iteration, and nothing that is done changes") {
  const Job job = small_job(4, 1, sized(2, 2, 2), 16);
  for (const Job& slow : {with(job, {{3, {.compute = 2, .communication = 1.5}}}), with(job, {{3, {.host = 30}}})}) {
    const auto base = simulate(job);
    const auto found = simulate(slow);
    const ActivitySeconds& parts = found.result.activity_s;
    CHECK(std::accumulate(parts.begin(), parts.end(), 0.0) ==
          doctest::Approx(found.result.iteration_time_s).epsilon(1e-9));
    CHECK(found.result.iteration_time_s > base.result.iteration_time_s);
    CHECK(found.result.model_flop == base.result.model_flop);
    CHECK(found.result.memory_peak_bytes == base.result.memory_peak_bytes);
  }
}

namespace {

Picoseconds makespan_by_slowest(const Job& job) {
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  return execute(perturbed_by_slowest(lower(job, blocks, plans, {.by_class = true}), job, plans)).makespan;
}

}  // namespace

TEST_CASE("a rank with the largest factors of all that it stands for: as long as with all of them, or longer") {
  const std::vector<std::pair<int, TimeFactors>> slow = {
      {0, {.compute = 1.3}}, {5, {.communication = 1.7}}, {6, {.host = 4}}, {3, {.compute = 0.5}}};
  for (const Strategy& s : {sized(8, 2, 1), sized(4, 2, 2), sized(2, 2, 4)}) {
    const Job job = small_job(8, 2, s, 16);
    for (const std::pair<int, TimeFactors>& rank : slow) {
      CAPTURE(rank.first);
      const Job one = with(job, {rank});
      REQUIRE_FALSE(folds(one));
      const Picoseconds exact = makespan(one, {.unfolded = true});
      CHECK(makespan_by_slowest(one) >= exact);
      // A wait of a rank's neighbours in its tensor group holds up the other replica as well, at the end.
      if (s.pipeline == 1 && rank.second.compute > 1) {
        CHECK(static_cast<double>(makespan_by_slowest(one)) ==
              doctest::Approx(static_cast<double>(exact)).epsilon(1e-6));
      }
    }
    Perturbations ports;
    ports.ports[1] = 1.5;
    const Job port = perturbed_by(job, ports);
    CHECK(makespan_by_slowest(port) >= makespan(port, {.unfolded = true}));
    CHECK(makespan_by_slowest(port) < 1.5 * static_cast<double>(makespan(job, {})));
  }
}

TEST_CASE(
    "ranks that differ where a program with all of them would be too large: the slowest decides, and a note says so") {
  Strategy s = sized(8, 8, 1);
  s.context = 4;
  s.sequence_parallel = true;
  Job job = small_job(40, 32, s, 1024);
  job.cluster = nodes_on("{type: torus-2d}", 32);
  Perturbations ports;
  ports.ports[0] = 1.5;
  const Simulation found = simulate(perturbed_by(job, ports));
  CHECK(found.program.ranks.size() == 1);
  CHECK(found.result.slowest_stands_for_others);
  const std::vector<std::string> notes = notes_on(found.job, found.result);
  CHECK(std::any_of(notes.begin(), notes.end(),
                    [](const std::string& note) { return note.find("as slow as the slowest") != std::string::npos; }));
  CHECK(found.result.iteration_time_s > simulate(job).result.iteration_time_s);
}
