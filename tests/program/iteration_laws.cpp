// Laws of whole iterations: where the time goes sums to the time, nothing depends on threads or on how a program is
// represented, and nothing gets slower from faster hardware.

#include "base/parallel.hpp"
#include "job_fixture.hpp"
#include "simulation/breakdown.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace iteration_laws_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<Job> jobs() {
  std::vector<Job> out;
  for (const int variant : {0, 1, 2, 3, 4, 5, 6}) {
    Strategy s;
    s.tensor = variant % 2 == 0 ? 2 : 4;
    s.pipeline = variant < 2 ? 1 : 2;
    s.virtual_pipeline = variant == 4 ? 2 : 1;
    s.schedule = variant == 4 ? schedule_named("interleaved-1f1b") : schedule_named("1f1b");
    s.context = variant == 6 ? 2 : 1;
    s.data = 16 / s.team() / s.pipeline;
    s.sequence_parallel = variant == 3;
    s.zero = variant == 5 ? 1 : 0;
    s.overlap_grad_reduce = variant == 5;
    s.recompute = variant == 2 ? Recompute::full : Recompute::none;
    out.push_back(small_job(8, 2, s, 32));
    if (variant == 6) out.back().framework = test::framework_named("megatron-core");  // for its fused attention
  }
  return out;
}

double sum(const ActivitySeconds& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

template <typename Change>
Job with_hardware(const Job& job, const Change& change) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    nodes.push_back(group);
    change(nodes.back().hardware);
  }
  Job out = job;
  out.cluster = Cluster(nodes, job.cluster.fabric());
  return out;
}

}  // namespace

TEST_CASE("where the time goes sums to the iteration time, on every stage and at both levels of detail") {
  for (const Job& job : jobs()) {
    for (const bool operators : {false, true}) {
      const auto simulation = simulate(job, {false, operators});
      for (const StageResult& stage : simulation.result.stages) {
        CHECK(sum(stage.activity_s) == doctest::Approx(simulation.result.iteration_time_s).epsilon(1e-9));
        for (const double seconds : stage.activity_s) CHECK(seconds >= 0);
      }
      CHECK(sum(simulation.result.activity_s) == doctest::Approx(simulation.result.iteration_time_s).epsilon(1e-9));
    }
  }
}

TEST_CASE("the breakdown is the same for every rank of a stage, folded or not") {
  for (const Job& job : jobs()) {
    const auto folded = simulate(job);
    const auto unfolded = simulate(job, {true, false});
    for (std::uint32_t rank = 0; rank < unfolded.program.ranks.size(); ++rank) {
      const ActivitySeconds found = breakdown_of(unfolded.program, unfolded.timeline, {&rank, 1}).front();
      const ActivitySeconds& expected = folded.result.stages[unfolded.program.ranks[rank].stage].activity_s;
      for (std::size_t i = 0; i < kActivities; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("energy: between all GPUs waiting and all GPUs working all the time; folding does not change it") {
  for (const Job& job : jobs()) {
    const auto folded = simulate(job);
    const IterationResult& r = folded.result;
    const GpuSpec& gpu = job.cluster.gpu_of(0);
    CHECK(r.energy_j > gpu.blocked_w.value * r.gpus * r.iteration_time_s);
    CHECK(r.energy_j < gpu.tdp_w.value * r.gpus * r.iteration_time_s);
    CHECK(simulate(job, {true, false}).result.energy_j == doctest::Approx(r.energy_j).epsilon(1e-9));
  }
}

TEST_CASE("rates, prices and training time follow from the iteration time") {
  Job job = jobs().front();
  job.training.tokens = 1e9;
  const IterationResult r = simulate(job).result;
  const double tokens = 32.0 * 512;
  CHECK(r.tokens_per_s == doctest::Approx(tokens / r.iteration_time_s));
  CHECK(r.tokens_per_s_per_gpu * r.gpus == doctest::Approx(r.tokens_per_s));
  CHECK(r.mfu == doctest::Approx(r.tflops_per_gpu / 312));
  CHECK(r.hfu == doctest::Approx(r.hardware_tflops_per_gpu / 312));
  CHECK(r.training_time_s == doctest::Approx(1e9 / tokens * r.iteration_time_s));
  const double price = job.cluster.groups()[0].price->usd_per_gpu_hour.value;
  CHECK(r.training_cost_usd == doctest::Approx(price * 16 * r.training_time_s / 3600));
}

TEST_CASE("the same bits on every run and on any number of threads") {
  const std::vector<Job> all = jobs();
  std::vector<std::uint64_t> expected;
  for (const Job& job : all) expected.push_back(simulate(job).timeline.hash());
  for (const int threads : {1, 2, 4}) {
    std::vector<std::uint64_t> found(all.size() * 4);
    parallel_for(
        found.size(), [&](std::size_t i) { found[i] = simulate(all[i % all.size()]).timeline.hash(); }, threads);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == expected[i % all.size()]);
  }
}

TEST_CASE("a faster link, GPU or host never lengthens an iteration") {
  using Change = void (*)(NodeHardware&);
  const Change changes[] = {
      [](NodeHardware& h) { h.scale_up.bandwidth.value *= 2; },
      [](NodeHardware& h) { h.network.bandwidth.value *= 2; },
      [](NodeHardware& h) { h.network.latency_s.value /= 2; },
      [](NodeHardware& h) { h.scale_up.base_latency_s.value /= 2; },
      [](NodeHardware& h) { h.network.send_latency_s.value /= 2; },
      [](NodeHardware& h) { h.gpu.memory_bandwidth.value *= 2; },
      [](NodeHardware& h) { h.gpu.kernel_launch_s.value /= 2; },
      [](NodeHardware& h) {
        for (auto& [precision, peak] : h.gpu.peak_flops) peak.value *= 2;
      },
  };
  for (const Job& job : jobs()) {
    const Picoseconds before = simulate(job).timeline.makespan;
    // NCCL opens more channels over a faster link; what they hold of the multiprocessors, kernels beside them lack.
    const double channels = 1.001;
    for (const Change change : changes) {
      CHECK(simulate(with_hardware(job, change)).timeline.makespan <= channels * static_cast<double>(before));
    }
    Job faster = job;
    faster.framework.host.forward_s /= 2;
    CHECK(simulate(faster).timeline.makespan <= before);
  }
}

TEST_CASE("busy and idle time of every stream sum to the makespan, and no stream runs two tasks at once") {
  for (const Job& job : jobs()) {
    const auto simulation = simulate(job, {true, false});
    std::vector<Picoseconds> free(simulation.program.streams.size());
    std::vector<Picoseconds> busy(free.size());
    std::vector<Picoseconds> idle(free.size());
    for (TaskId task = 0; task < simulation.program.size(); ++task) {
      const StreamId stream = simulation.program.stream[task];
      REQUIRE(simulation.timeline.start[task] >= free[stream]);
      idle[stream] += simulation.timeline.start[task] - free[stream];
      busy[stream] += simulation.timeline.end[task] - simulation.timeline.start[task];
      free[stream] = simulation.timeline.end[task];
    }
    for (std::size_t stream = 0; stream < free.size(); ++stream) {
      const Picoseconds rest = simulation.timeline.makespan - free[stream];
      CHECK(rest >= 0);
      CHECK(busy[stream] + idle[stream] + rest == simulation.timeline.makespan);
    }
  }
}

}  // namespace iteration_laws_test
