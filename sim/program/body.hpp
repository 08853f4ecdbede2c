#pragma once

#include "cost/kernel_model.hpp"
#include "program/program.hpp"

#include <string>
#include <vector>

namespace mirfak {

// One kernel or collective of a pass, priced.
struct BodyStep {
  std::string name;
  StreamKind stream = StreamKind::compute;  // compute, tensor or context
  Activity activity{};
  Picoseconds device = 0;       // time on its stream
  Picoseconds host = 0;         // time the host takes to issue it
  Picoseconds host_behind = 0;  // ... and then, before it issues the next: of kernels that are one step
  Picoseconds held = 0;         // of `device`, what the stream waits for a host that issues nothing ahead
  double flop = 0;
  double executed_flop = 0;  // as in KernelCost
  double bytes = 0;
  double energy_j = 0;    // above that of waiting
  double clocked_s = 0;   // as in KernelCost
  double held_share = 0;  // of the multiprocessors, by a collective
  double copied_s = 0;    // of `device`, by a collective: kernels that copy what it moves
  double draw = 0;
  FlowPattern flows = FlowPattern::none;  // of a collective: as in TaskClass
  double network_bytes_per_s = 0;
  bool host_waits = false;  // the host issues it once the compute stream has done all before it
  std::vector<int> after;   // earlier steps of the body that must have ended
};

// A kernel on the compute stream; what the host takes to issue it is left to the caller.
BodyStep kernel_step(std::string name, const KernelModel& kernels, const KernelCost& cost);

// How long a step keeps its stream and the host, with factors: a collective by those of what it exchanges, the host by
// its own.
struct BodyStepTimes {
  Picoseconds device = 0;
  Picoseconds held = 0;  // of `device`, as in BodyStep
  Picoseconds host = 0;
  Picoseconds host_behind = 0;
};
BodyStepTimes slowed_times(const BodyStep& step, const ActivityFactors& factors);
Picoseconds slowed(Picoseconds time, double by);

// The ordered kernels and collectives of one block's forward or backward pass. When a body starts, all its device
// streams are free; it has ended when all its steps have.
struct Body {
  std::vector<BodyStep> steps;
};

// A body, or several in a row, as one task: exactly as long. Execution is linear in max-plus algebra, so with the
// device streams free at D and the host at H a body ends at max(D + device, H + lead + device) and the host is
// free at max(H + host, D + waited), for four constants of the body.
struct FoldedBody {
  static constexpr Picoseconds kNever = -1;

  // Length when the host is free long before; with what the device idles for a host that has waited for it.
  Picoseconds device = 0;
  Picoseconds lead = 0;  // the device may not start before the host has worked this long on the body
  // The host's work, with what the host waits for the device where the device is free long before; host >= lead.
  Picoseconds host = 0;
  Picoseconds waited = kNever;  // from where the device is free to where the host is; kNever: it waits for nothing
  Picoseconds kernels = 0;      // the compute stream's work alone
  double flop = 0;
  double executed_flop = 0;
  double bytes = 0;
  double energy_j = 0;
  ActivitySeconds activity_s{};  // sums to `device`; communication hidden behind compute does not count

  bool host_waits() const { return waited != kNever; }
  // True if one task of the device and the host's tasks act as the body does. Only a collective beside kernels that
  // the host waits for, issued late and longer than all behind it, makes a body that none does; several bodies in a row
  // that do are one that does.
  bool is_one_task() const { return lead + waited <= host; }
};

FoldedBody fold(const Body& body);
// Folds a body whose steps take slowed_times(), its constants of time alone.
FoldedBody fold_times(const Body& body, const ActivityFactors& factors);
void append(FoldedBody& body, const FoldedBody& next);   // `next` runs behind it
FoldedBody repeated(const FoldedBody& body, int times);  // times >= 0

}  // namespace mirfak
