// Ranks that share a GPU: their kernels take turns.

#include "simulation/shared_gpus.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace shared_gpus_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Cluster shared_cluster(int gpus, int ranks_per_gpu) {
  NodeAllotment node = cluster_of("dgx-a100-80g", 1).groups().front();
  node.hardware.spec.gpus = node.hardware.spec.scale_up_domain = gpus * ranks_per_gpu;
  node.hardware.spec.ranks_per_gpu = ranks_per_gpu;
  return Cluster({node}, default_fabric());
}

// Ranks that have a compute stream each, numbered alike.
Program program_of(std::uint32_t ranks) {
  Program program;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    program.add_stream(rank, StreamKind::compute);
    ProgramRank own;
    own.rank = rank;
    program.ranks.push_back(own);
  }
  TaskClass kernel;
  kernel.kind = TaskKind::kernel;
  kernel.name = "work";
  program.add_class(kernel);
  return program;
}

std::vector<Job> jobs() {
  std::vector<Job> out;
  for (const int variant : {0, 1, 2, 3}) {
    Strategy s;
    s.pipeline = variant == 3 ? 1 : 2;
    s.tensor = variant == 2 ? 2 : 1;
    s.virtual_pipeline = variant == 1 ? 2 : 1;
    s.schedule = variant == 1 ? schedule_named("interleaved-1f1b") : schedule_named("1f1b");
    s.data = 4 / s.tensor / s.pipeline;
    s.zero = variant == 3 ? 1 : 0;
    out.push_back(small_job(4, 1, s, 16));
    out.back().cluster = shared_cluster(4, 1);
  }
  return out;
}

Job shared(Job job, int ranks_per_gpu) {
  job.cluster = shared_cluster(4 / ranks_per_gpu, ranks_per_gpu);
  return job;
}

}  // namespace

// GPU 0 has ranks 0 and 1, GPU 1 ranks 2 and 3. In the order of the program: a (rank 0, 3 ps), b (rank 1, 2 ps, after
// c), c (rank 2, 7 ps), d (rank 0, 1 ps), e (rank 3, 1 ps). With GPUs of their own: a 0-3, c 0-7, b 7-9, d 3-4, e 0-1.
TEST_CASE("kernels of ranks on one GPU take turns in the order of the program") {
  Program program = program_of(4);
  const TaskId a = program.add_task(0, 0, 3, {});
  const TaskId c = program.add_task(2, 0, 7, {});
  const TaskId b = program.add_task(1, 0, 2, std::vector{c});
  const TaskId d = program.add_task(0, 0, 1, {});
  const TaskId e = program.add_task(3, 0, 1, {});
  const Cluster cluster = shared_cluster(2, 2);
  for (const Executor executor : {Executor::sweep, Executor::events}) {
    const Timeline timeline = execute_sharing_gpus(program, cluster, executor);
    CHECK(timeline.start[a] == 0);
    CHECK(timeline.start[b] == 7);
    CHECK(timeline.start[d] == 9);  // behind b, though its GPU idled from 3 to 7
    CHECK(timeline.start[e] == 7);
    CHECK(timeline.makespan == 10);
    // Time of other ranks' kernels: rank 0 waits the 2 ps of b, 1 the 4 of a and d, 2 the 1 of e, 3 the 7 of c.
    CHECK(seconds_of_others(program, timeline, cluster) == doctest::Approx((2 + 4 + 1 + 7) / 4.0 * 1e-12));
  }
}

TEST_CASE("ranks that share GPUs: one kernel at a time on each, and no iteration is quicker for it") {
  for (const Job& job : jobs()) {
    const double alone = simulate(job, {true, true}).result.iteration_time_s;
    for (const int ranks_per_gpu : {2, 4}) {
      const Job sharing = shared(job, ranks_per_gpu);
      const auto simulation = simulate(sharing);
      const Program& program = simulation.program;
      std::map<int, Picoseconds> free;
      std::map<int, Picoseconds> computing;
      for (TaskId task = 0; task < program.size(); ++task) {
        const Picoseconds start = simulation.timeline.start[task];
        const Picoseconds end = simulation.timeline.end[task];
        for (const TaskId before : program.dependencies_of(task)) CHECK(simulation.timeline.end[before] <= start);
        const Stream& stream = program.streams[program.stream[task]];
        if (stream.kind != StreamKind::compute) continue;
        const int gpu = sharing.cluster.place_of(static_cast<int>(program.ranks[stream.rank].rank)).gpu;
        CHECK(free[gpu] <= start);
        free[gpu] = end;
        computing[gpu] += end - start;
      }
      CHECK(computing.size() == static_cast<std::size_t>(4 / ranks_per_gpu));
      for (const auto& [gpu, busy] : computing) CHECK(simulation.timeline.makespan >= busy);
      CHECK(simulation.result.iteration_time_s >= alone);
      CHECK(simulation.result.gpu_of_others_s > 0);
      CHECK(simulation.result.gpu_of_others_s < simulation.result.iteration_time_s);
    }
  }
}

TEST_CASE("ranks that share GPUs: one replica stands for all that have GPUs of their own") {
  Strategy s = sized(2, 4, 1);
  s.overlap_grad_reduce = true;
  Job job = small_job(4, 1, s, 32);
  job.cluster = shared_cluster(4, 2);
  const auto simulation = simulate(job);
  CHECK(simulation.program.ranks.size() == 2);
  const IterationResult unfolded = simulate(job, {true, false}).result;
  CHECK(simulation.result.iteration_time_s == unfolded.iteration_time_s);
  CHECK(simulation.result.gpu_of_others_s == doctest::Approx(unfolded.gpu_of_others_s).epsilon(1e-12));
  CHECK(simulation.result.bubble_fraction == doctest::Approx(unfolded.bubble_fraction).epsilon(1e-12));
}

TEST_CASE("ranks that share a GPU share its memory, power and price") {
  const Job job = jobs().front();
  const IterationResult own = simulate(job).result;
  const Job sharing = shared(job, 4);
  const auto simulation = simulate(sharing);
  const IterationResult& r = simulation.result;
  const NodeGroup& node = sharing.cluster.groups().front();
  CHECK(own.gpu_of_others_s == 0);
  CHECK(r.gpus == 1);
  CHECK(r.memory_capacity_bytes == doctest::Approx(own.memory_capacity_bytes / 4));
  CHECK(r.model_flop == doctest::Approx(own.model_flop));
  CHECK(r.mfu == doctest::Approx(r.tflops_per_gpu / 312));
  CHECK(r.cost_usd == doctest::Approx(node.price->usd_per_gpu_hour.value * r.iteration_time_s / 3600));
  const double waiting = node.hardware.gpu.blocked_w.value;
  const double own_waiting = waiting * own.gpus * own.iteration_time_s;
  // The same kernels: what they draw above waiting is the same.
  CHECK(r.energy_j - waiting * r.iteration_time_s == doctest::Approx(own.energy_j - own_waiting));
}

}  // namespace shared_gpus_test
