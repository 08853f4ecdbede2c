#pragma once

#include "simulation/joint_jobs.hpp"

#include <span>

namespace mirfak {

// Additional consumption of a job's iteration because other jobs are there: its GPUs, hosts and rented hours wait.
struct WaitingForOthers {
  double energy_j = 0;  // energy of its GPUs
  double facility_energy_j = 0;
  double co2_kg = 0;
  double cost_usd = 0;
};
WaitingForOthers waiting_for_others(const JobAmongOthers& job);

// Power, emissions and cost of a whole cluster while all its jobs run, at the mean rates of their iterations. GPUs of
// nodes that no job has draw their idle power and are paid for.
struct ClusterDraw {
  int idle_nodes = 0;
  double jobs_w = 0;  // GPUs of the jobs
  double idle_w = 0;  // GPUs of idle nodes
  double hosts_w = 0;
  double network_w = 0;
  double facility_w = 0;         // all above times PUE, plus cooling
  double co2_kg_per_s = 0;       // 0: no intensity is known
  double usd_per_hour = 0;       // 0: no price is known for some GPU
  double idle_usd_per_hour = 0;  // part of usd_per_hour for idle nodes

  double machine_w() const { return jobs_w + idle_w + hosts_w + network_w; }
};
ClusterDraw cluster_draw(const Cluster& cluster, const JointSimulation& simulation);

}  // namespace mirfak
