#pragma once

#include "cost/kernel_model.hpp"
#include "program/program.hpp"

#include <string>
#include <vector>

namespace mirfak {

// One priced kernel or collective of a pass.
struct BodyStep {
  std::string name;
  StreamKind stream = StreamKind::compute;  // compute, tensor or context
  Activity activity{};
  Picoseconds device = 0;       // time on its stream
  Picoseconds host = 0;         // time the host takes to issue it
  Picoseconds host_behind = 0;  // host's work between this step and the next: of kernels that are one step
  Picoseconds held = 0;         // part of `device` in which the stream waits for a host that issues nothing ahead
  double flop = 0;
  double executed_flop = 0;  // as in KernelCost
  double bytes = 0;
  double energy_j = 0;      // above the energy of waiting
  double clocked_s = 0;     // as in KernelCost
  double held_share = 0;    // share of the multiprocessors that a collective holds
  double memory_bytes = 0;  // bytes that a collective reads from and writes to the memory
  double copied_s = 0;      // part of `device`, of a collective: kernels that copy the data it moves
  double draw = 0;
  FlowPattern flows = FlowPattern::none;  // flows of a collective, as in TaskClass
  double network_bytes_per_s = 0;
  // Part of `device` that a kernel loses beside collectives of a body that is merged with its own (paired_bodies.hpp).
  Picoseconds lost = 0;
  bool of_second = false;   // a step of the second of two merged bodies
  bool host_waits = false;  // the host issues the step after the compute stream has finished all earlier steps
  std::vector<int> after;   // earlier steps of the body that must have ended
};

// Returns a kernel on the compute stream; the caller sets the time that the host takes to issue the kernel.
BodyStep kernel_step(std::string name, const KernelModel& kernels, const KernelCost& cost);

// Times for which a step keeps its stream and the host busy, multiplied by factors: a collective by the factor of the
// kind of exchange, the host's work by the host's factor.
struct BodyStepTimes {
  Picoseconds device = 0;
  Picoseconds held = 0;  // part of `device`, as in BodyStep
  Picoseconds host = 0;
  Picoseconds host_behind = 0;
};
BodyStepTimes slowed_times(const BodyStep& step, const ActivityFactors& factors);
Picoseconds slowed(Picoseconds time, double by);

// The ordered kernels and collectives of one block's forward or backward pass. When a body starts, all its device
// streams are free; it has ended when all its steps have ended.
struct Body {
  std::vector<BodyStep> steps;
};

// A body, or several consecutive bodies, as one task of exactly the same length. Execution is linear in max-plus
// algebra: if the device streams are free at D and the host at H, a body ends at max(D + device, H + lead + device) and
// the host is free at max(H + host, D + waited), with four constants of the body.
struct FoldedBody {
  static constexpr Picoseconds kNever = -1;

  // Length when the host is free long before, including the time that the device idles for a host that has waited for
  // it.
  Picoseconds device = 0;
  Picoseconds lead = 0;  // the device may not start before the host has worked on the body for this long
  // Time of the host's work when the device is free long before, including waits for the device; host >= lead.
  Picoseconds host = 0;
  Picoseconds waited = kNever;  // from the device being free to the host being free; kNever: no wait
  Picoseconds kernels = 0;      // the compute stream's work alone
  double flop = 0;
  double executed_flop = 0;
  double bytes = 0;
  double energy_j = 0;
  ActivitySeconds activity_s{};  // sums to `device`; communication hidden by compute does not count

  bool host_waits() const { return waited != kNever; }
  // True if one task of the device and the tasks of the host act as the body does. There is one exception: a collective
  // that is issued late, runs in parallel with kernels that the host waits for, and lasts longer than all steps after
  // it. Consecutive bodies that each satisfy the condition also satisfy it together.
  bool is_one_task() const { return lead + waited <= host; }
};

FoldedBody fold(const Body& body);
// Folds a body whose steps take slowed_times(); sets only the constants of time.
FoldedBody fold_times(const Body& body, const ActivityFactors& factors);
void append(FoldedBody& body, const FoldedBody& next);   // `next` runs after `body`
FoldedBody repeated(const FoldedBody& body, int times);  // times >= 0

}  // namespace mirfak
