#include "simulation/outer_step.hpp"

#include "base/error.hpp"
#include "program/outer_state.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Returns the bandwidth of all network ports of a learner's nodes together, as large rings use it.
double bandwidth_of_ports(const Cluster& cluster) {
  double bandwidth = 0;
  for (const NodeGroup& group : cluster.groups()) {
    const LinkSpec& port = group.hardware.network;
    bandwidth += group.nodes() * group.hardware.spec.ports * port.bandwidth.value * port.efficiency.value;
  }
  if (bandwidth > 0) return bandwidth;
  fail_infeasible({}, "training.local_steps: nodes without network ports reach no other learner",
                  "state training.local_steps.bandwidth, in bytes/s of one learner");
}

}  // namespace

OuterStep outer_step(const Job& job, std::span<const StagePlan> plans, double step_s) {
  OuterStep out;
  const LocalSteps& of = job.training.local_steps;
  if (!of.any()) return out;
  out.learners = of.learners;
  out.bandwidth = of.bandwidth > 0 ? of.bandwidth : bandwidth_of_ports(job.cluster);
  const double others = of.learners - 1;
  out.sent_bytes = 2 * others / of.learners * exchanged_bytes(job, plans);
  out.exchange_s = out.sent_bytes / out.bandwidth + of.fragments * 2 * others * of.latency_s;
  const double late_s = std::max(0.0, out.exchange_s - of.fragments * of.delay * step_s);
  const double behind_s = out.exchange_s - of.every * step_s;
  out.exposed_s = std::max(late_s, behind_s) / of.every;
  return out;
}

}  // namespace mirfak
