#pragma once

#include "simulation/joint_jobs.hpp"

#include <span>

namespace mirfak {

// What a job's iteration takes more because others are there: its GPUs, hosts and rented hours wait.
struct WaitingForOthers {
  double energy_j = 0;  // of its GPUs
  double facility_energy_j = 0;
  double co2_kg = 0;
  double cost_usd = 0;
};
WaitingForOthers waiting_for_others(const JobAmongOthers& job);

// What a whole cluster draws, emits and costs while all its jobs run, at the mean rates of their iterations. GPUs of
// nodes that no job has draw their idle power, and are paid for.
struct ClusterDraw {
  int idle_nodes = 0;
  double jobs_w = 0;  // GPUs of the jobs
  double idle_w = 0;  // GPUs of idle nodes
  double hosts_w = 0;
  double network_w = 0;
  double facility_w = 0;         // all that, times PUE, with cooling
  double co2_kg_per_s = 0;       // 0: no intensity is known
  double usd_per_hour = 0;       // 0: no price is known for some GPU
  double idle_usd_per_hour = 0;  // of that, of idle nodes

  double machine_w() const { return jobs_w + idle_w + hosts_w + network_w; }
};
ClusterDraw cluster_draw(const Cluster& cluster, const JointSimulation& simulation);

}  // namespace mirfak
