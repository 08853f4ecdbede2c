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

// The ordered kernels and collectives of one block's forward or backward pass. When a body starts, all its device
// streams are free; it has ended when all its steps have.
struct Body {
  std::vector<BodyStep> steps;
};

// A body, or several in a row, as one task: exactly as long. Execution is linear in max-plus algebra, so with the
// device streams free at D and the host at H a body ends at max(D + device, H + lead + device) and the host is
// free at H + host, for three constants of the body. Where the host waits for the device inside, `device` is the length
// of the body among others like it, with what the device idles for the host, and the host cannot run ahead: where the
// body began at B, it is free at B + waited + host_behind at the earliest.
struct FoldedBody {
  Picoseconds device = 0;       // length when the host is never late
  Picoseconds lead = 0;         // the device may not start before the host has worked this long on the body
  Picoseconds host = 0;         // the host's work; host >= lead
  Picoseconds waited = 0;       // from the start to where the host has last waited for the device; 0: it does not
  Picoseconds host_behind = 0;  // the host's work behind that
  Picoseconds kernels = 0;      // the compute stream's work alone
  double flop = 0;
  double executed_flop = 0;
  double bytes = 0;
  double energy_j = 0;
  ActivitySeconds activity_s{};  // sums to `device`; communication hidden behind compute does not count
};

FoldedBody fold(const Body& body);
void append(FoldedBody& body, const FoldedBody& next);   // `next` runs behind it
FoldedBody repeated(const FoldedBody& body, int times);  // times >= 0

}  // namespace mirfak
