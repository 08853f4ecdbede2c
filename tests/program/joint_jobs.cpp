// Jobs that share a cluster's network.

#include "simulation/joint_jobs.hpp"

#include "engine/execute.hpp"
#include "jobs_on_leaves.hpp"
#include "program/job_network.hpp"
#include "program/joint_program.hpp"
#include "simulation/cluster_draw.hpp"
#include "simulation/joint_links.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace joint_jobs_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

LoweredJob lowered(const Job& job, bool unfolded = false) {
  const Lowered of(job);
  LoweringOptions options;
  options.unfolded = unfolded;
  return lower_apart(of.job, of.blocks, of.plans, options);
}

Picoseconds alone(const Job& job) { return execute(Lowered(job).program()).makespan; }

// The ends of the iterations of each of these jobs, `iterations` of each.
std::vector<std::vector<Picoseconds>> ends_of(const std::vector<Job>& jobs, int iterations, bool unfolded = false) {
  std::vector<LoweredJob> each;
  for (const Job& job : jobs) each.push_back(lowered(job, unfolded));
  std::vector<JointJob> parts;
  for (const LoweredJob& job : each) parts.push_back({&job, iterations});
  const JointProgram joint = join(parts);
  joint.program.validate();
  const Timeline timeline = execute(joint.program);
  std::vector<std::vector<Picoseconds>> out;
  for (const auto& of_job : joint.ends) {
    out.emplace_back();
    for (const TaskId end : of_job) out.back().push_back(timeline.end[end]);
  }
  return out;
}

JointSimulation together(const std::vector<Job>& jobs, int iterations) {
  std::vector<JobAmong> among;
  for (const Job& job : jobs) among.push_back({job, 0});
  return simulate_together(among, iterations);
}

}  // namespace

TEST_CASE("jobs: one by itself takes its iterations one after the other") {
  const Job job = job_on(leaves_of_four(16, 4), 8, 2, even);
  const auto ends = ends_of({job}, 3);
  const Picoseconds time = alone(job);
  CHECK(ends[0] == std::vector<Picoseconds>{time, 2 * time, 3 * time});
}

TEST_CASE("jobs: a part that is the whole cluster is the cluster") {
  const Cluster cluster = leaves_of_four(16, 4);
  Job job = job_on(cluster, 8, 4, [](int) { return true; });
  const Picoseconds of_part = alone(job);
  job.part = nullptr;
  CHECK(alone(job) == of_part);
  CHECK(alone(job) > alone(job_on(leaves_of_four(16, 1), 8, 4, [](int) { return true; })));  // the network counts here
}

TEST_CASE("jobs: equal jobs on links of their own take the time of one") {
  const Cluster cluster = leaves_of_four(16, 4);
  const Job lower = job_on(cluster, 8, 2, lower_half);
  const Job upper = job_on(cluster, 8, 2, upper_half);
  const Picoseconds time = alone(lower);
  CHECK(alone(upper) == time);
  for (const auto& ends : ends_of({lower, upper}, 2)) CHECK(ends == std::vector<Picoseconds>{time, 2 * time});
}

TEST_CASE("jobs: those that send over the same uplinks slow each other down, in whatever order they stand") {
  const Cluster cluster = leaves_of_four(16, 8);
  const Job first = job_on(cluster, 8, 2, even);
  const Job second = job_on(cluster, 8, 2, odd);
  const auto together = ends_of({first, second}, 1);
  CHECK(together[0][0] > alone(first));
  CHECK(together[1][0] > alone(second));
  const auto swapped = ends_of({second, first}, 1);
  CHECK(swapped[0] == together[1]);
  CHECK(swapped[1] == together[0]);
}

TEST_CASE("jobs: with room for all that nodes send they do not meet") {
  const Cluster cluster = leaves_of_four(16, 1);
  const Job first = job_on(cluster, 8, 2, even);
  const Job second = job_on(cluster, 4, 1, odd);
  const JointSimulation result = together({first, second}, 3);
  for (const JobAmongOthers& job : result.jobs) {
    CHECK(job.slowdown() == doctest::Approx(0).epsilon(1e-12));
    CHECK(job.iterations >= 3);
  }
  CHECK(result.joint.contended_links == 0);
  for (const LinkKindUse& kind : network_use(result, {"first", "second"}).kinds) {
    for (const SlowedCommunication& each : kind.slowed) CHECK(each.by[1 - each.owner] == 0);  // ports are a job's own
  }
}

TEST_CASE("jobs: folded and unfolded take the same time where replicas lie alike") {
  const Cluster cluster = leaves_of_four(16, 8);
  const std::vector<Job> jobs = {job_on(cluster, 8, 2, even), job_on(cluster, 8, 2, odd)};
  CHECK(ends_of(jobs, 2) == ends_of(jobs, 2, true));
}

TEST_CASE("jobs: iterations are counted while all run, and are as long as their mean says") {
  const Cluster cluster = leaves_of_four(16, 8);
  const JointSimulation result = together({job_on(cluster, 16, 2, even), job_on(cluster, 4, 1, odd)}, 5);
  REQUIRE(result.jobs.size() == 2);
  for (const JobAmongOthers& job : result.jobs) {
    CHECK(job.iterations >= 5);
    CHECK(job.least_s <= job.mean_s);
    CHECK(job.mean_s <= job.most_s);
    CHECK(job.mean_s * job.iterations <= result.together_s() * (1 + 1e-12));
    CHECK(job.most_s >= job.alone.iteration_time_s * (1 - 1e-12));
  }
  CHECK(result.jobs[1].iterations > result.jobs[0].iterations);  // a short one runs more often
  CHECK(std::max(result.jobs[0].slowdown(), result.jobs[1].slowdown()) > 0.001);
}

TEST_CASE("jobs: what each job's traffic adds to a link's communication sums to what the link adds") {
  const Cluster cluster = leaves_of_four(16, 8);
  const JointSimulation result = together({job_on(cluster, 8, 2, even), job_on(cluster, 8, 2, odd)}, 3);
  const NetworkUse use = network_use(result, {"first", "second"});
  REQUIRE(use.binds());
  double by_others = 0;
  for (const LinkKindUse& kind : use.kinds) {
    for (const SlowedCommunication& each : kind.slowed) {
      CAPTURE(each.name);
      REQUIRE(each.by.size() == 2);
      CHECK(each.by[0] >= 0);
      CHECK(each.by[1] >= 0);
      CHECK(each.by[0] + each.by[1] == doctest::Approx(each.slowed_s));
      // Equal jobs in step: whatever shares a link of theirs with its like is slower for that.
      if (kind.kind.find("leaf") != std::string::npos) CHECK(each.by[1 - each.owner] > 0.01 * each.slowed_s);
      by_others += each.by[1 - each.owner];
    }
  }
  CHECK(by_others > 0);
  for (const LinkUsage& link : use.links) {
    REQUIRE(link.bytes_of.size() == 2);
    CHECK(link.bytes_of[0] + link.bytes_of[1] == doctest::Approx(link.bytes));
    CHECK(link.mean_use <= 1 + 1e-9);
    CHECK(link.points.front().time == result.from);
    CHECK(link.points.back().time == result.to);
  }
}

TEST_CASE("jobs: on links of their own they are slowed by their own traffic, as much as alone") {
  const Cluster cluster = leaves_of_four(16, 16);
  const std::vector<Job> jobs = {job_on(cluster, 8, 2, lower_half), job_on(cluster, 8, 2, upper_half)};
  const JointSimulation result = together(jobs, 2);
  const NetworkUse use = network_use(result, {"first", "second"});
  REQUIRE(use.binds());
  std::vector<double> slowed_s(2, 0);
  for (const LinkKindUse& kind : use.kinds) {
    for (const SlowedCommunication& each : kind.slowed) {
      CHECK(each.by[1 - each.owner] == 0);
      slowed_s[each.owner] += each.slowed_s;
    }
  }
  for (std::size_t job = 0; job < 2; ++job) {
    const double alone = network_use(result.alone[job]).slowed_s;
    CHECK(slowed_s[job] == doctest::Approx(alone * result.jobs[job].iterations));
  }
}

TEST_CASE("jobs: of the whole network the same links bind, and add as much") {
  const Cluster cluster = leaves_of_four(16, 8);
  const JointSimulation result = together({job_on(cluster, 8, 2, even), job_on(cluster, 4, 1, odd)}, 2);
  const NetworkUse use = network_use(result, {"first", "second"});
  const NetworkUse all = whole_network_use(result, {"first", "second"}, {});
  CHECK(all.slowed_s == doctest::Approx(use.slowed_s).epsilon(1e-7));
  CHECK(all.links.size() > use.links.size());
}

TEST_CASE("jobs: without the only other one a job takes its time alone") {
  const Cluster cluster = leaves_of_four(16, 8);
  const std::vector<JobAmong> jobs = {{job_on(cluster, 8, 2, even), 0}, {job_on(cluster, 4, 1, odd), 0}};
  const auto without = without_each(jobs, 2);
  for (std::size_t job = 0; job < 2; ++job) {
    CHECK(without[job][1 - job] == doctest::Approx(to_seconds(alone(jobs[job].job))));
  }
}

TEST_CASE("jobs: the mean of equal iterations is that iteration; what the others cause is waiting") {
  const Cluster cluster = leaves_of_four(16, 8);
  const JointSimulation apart = together({job_on(cluster, 8, 2, lower_half), job_on(cluster, 8, 2, upper_half)}, 3);
  for (const JobAmongOthers& job : apart.jobs) {
    CHECK(job.together.iteration_time_s == doctest::Approx(job.alone.iteration_time_s));
    CHECK(job.together.energy_j == doctest::Approx(job.alone.energy_j));
    CHECK(job.together.mfu == doctest::Approx(job.alone.mfu));
  }
  const JointSimulation meeting = together({job_on(cluster, 8, 2, even), job_on(cluster, 8, 2, odd)}, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    const JobAmongOthers& job = meeting.jobs[i];
    double sum = 0;
    for (const double seconds : job.together.activity_s) sum += seconds;
    CHECK(sum == doctest::Approx(job.mean_s));
    double waiting_w = 0;
    for (const StagePlan& plan : meeting.alone[i].plans) {
      waiting_w += plan.gpus() * plan.costs.hardware->hardware.gpu.blocked_w.value;
    }
    CHECK(job.together.energy_j - job.alone.energy_j ==
          doctest::Approx(waiting_w * (job.mean_s - job.alone.iteration_time_s)));
    CHECK(job.together.energy_j > job.alone.energy_j);
  }
}

TEST_CASE("jobs: one that starts later does so, and what counts is when all run") {
  const Cluster cluster = leaves_of_four(16, 8);
  const Job first = job_on(cluster, 8, 2, even);
  const Job second = job_on(cluster, 8, 2, odd);
  const double time_s = to_seconds(alone(first));
  const JointSimulation result = simulate_together(std::vector<JobAmong>{{first, 0}, {second, 2.5 * time_s}}, 3);
  CHECK(result.from == to_picoseconds(2.5 * time_s));
  CHECK(result.begin_of(1, 0) == result.from);
  CHECK(to_seconds(result.end_of(0, 1)) == doctest::Approx(2 * time_s));  // nobody else runs
  CHECK(result.jobs[0].first == 3);
  CHECK(result.jobs[1].first == 0);
  for (std::size_t job = 0; job < 2; ++job) {
    CHECK(result.jobs[job].iterations >= 3);
    const auto iteration = static_cast<std::size_t>(result.jobs[job].first);
    CHECK(result.begin_of(job, iteration) >= result.from);
    CHECK(result.iteration_of(job, iteration).makespan ==
          result.end_of(job, iteration) - result.begin_of(job, iteration));
  }
}

TEST_CASE("jobs: those whose gradients do not meet slow each other less") {
  const Cluster cluster = leaves_of_four(16, 8);
  const Job first = job_on(cluster, 8, 1, even);
  const Job second = job_on(cluster, 8, 1, odd);
  const double at_once = together({first, second}, 4).jobs[0].mean_s;
  const double half_s = to_seconds(alone(first)) / 2;
  const JointSimulation apart = simulate_together(std::vector<JobAmong>{{first, 0}, {second, half_s}}, 4);
  CHECK(apart.jobs[0].mean_s <= at_once);
}

TEST_CASE("jobs: the cluster draws what its jobs and its idle nodes do") {
  const Cluster cluster = leaves_of_four(20, 8);  // four nodes are idle
  const auto first_even = [](int node) { return node < 16 && node % 2 == 0; };
  const auto first_odd = [](int node) { return node < 16 && node % 2 == 1; };
  const JointSimulation result = together({job_on(cluster, 8, 2, first_even), job_on(cluster, 8, 2, first_odd)}, 2);
  const ClusterDraw draw = cluster_draw(cluster, result);
  CHECK(draw.idle_nodes == 4);
  CHECK(draw.idle_w == doctest::Approx(32 * cluster.gpu_of(0).idle_w.value));
  double energy_j = 0;
  for (const JobAmongOthers& job : result.jobs) {
    const WaitingForOthers waiting = waiting_for_others(job);
    CHECK(waiting.energy_j > 0);
    CHECK(waiting.energy_j == job.together.energy_j - job.alone.energy_j);
    energy_j += job.together.energy_j / job.mean_s;
  }
  CHECK(draw.jobs_w == doctest::Approx(energy_j));
  CHECK(draw.facility_w == doctest::Approx(draw.machine_w()));
}

TEST_CASE("jobs: what communication costs follows from where a job's own nodes are") {
  const Cluster racks = cluster_of("gb200-nvl72", 36);  // of 18 nodes, each one scale-up domain
  const auto on = [&](int first_node) {
    std::vector<int> devices;
    for (int device = 0; device < racks.gpus(); ++device) {
      const int node = racks.place_of(device).node;
      if (node >= first_node && node < first_node + 18) devices.push_back(device);
    }
    Job job = small_job(8, 1, sized(4, 18, 1), 72);
    NodeAllotment own = racks.groups()[0];
    own.count = 18;
    job.cluster = Cluster({own}, racks.fabric());
    job.part = std::make_shared<const ClusterPart>(ClusterPart{racks, devices});
    return job;
  };
  const Job one_rack = on(0);
  const Job two_racks = on(9);
  CHECK(communication_group(one_rack, one_rack.data_group(0)).shape.domains == 1);
  CHECK(communication_group(two_racks, two_racks.data_group(0)).shape.domains == 2);
  Job by_itself = one_rack;
  by_itself.part = nullptr;
  CHECK(alone(by_itself) == alone(one_rack));
  CHECK(alone(on(18)) == alone(one_rack));
  CHECK(alone(two_racks) > alone(one_rack));
}

}  // namespace joint_jobs_test
