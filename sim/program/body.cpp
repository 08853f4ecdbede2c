// Folding. Two numbers describe when a body ends: its length when only the device's streams hold it back, and when
// only the host does. Both come from executing it once. In a row, the second body's device entry is the first's
// end and its host entry the first's host end, so (D, L, H) compose:
//   D = D1 + D2,   L = max(L1 + D2, H1 + L2),   H = H1 + H2     with L = lead + device.
// Example: kernels of 3 and 1 that the host issues in 2 each: D = 4, L = max(2 + 3, 4) + 1 = 6, H = 4, so the
// device may start 2 after the host does.

#include "program/body.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// When the last step ends if the streams are free at 0 and, with `host_issues`, the host starts at 0.
Picoseconds length(const Body& body, bool host_issues) {
  std::vector<Picoseconds> end(body.steps.size());
  Picoseconds compute_free = 0;
  Picoseconds tensor_free = 0;
  Picoseconds issued = 0;
  Picoseconds last = 0;
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const BodyStep& step = body.steps[i];
    Picoseconds& free = step.stream == StreamKind::tensor ? tensor_free : compute_free;
    Picoseconds start = free;
    if (host_issues) start = std::max(start, issued += step.host);
    for (const int before : step.after) start = std::max(start, end[static_cast<std::size_t>(before)]);
    end[i] = free = start + step.device;
    last = std::max(last, end[i]);
  }
  return last;
}

}  // namespace

FoldedBody fold(const Body& body) {
  FoldedBody out;
  out.device = length(body, false);
  out.lead = length(body, true) - out.device;
  Picoseconds computing = 0;
  for (const BodyStep& step : body.steps) {
    out.host += step.host;
    out.flop += step.flop;
    out.bytes += step.bytes;
    out.energy_j += step.energy_j;
    if (step.stream == StreamKind::tensor) continue;
    computing += step.device;
    out.activity_s[static_cast<std::size_t>(step.activity)] += to_seconds(step.device);
  }
  out.activity_s[static_cast<std::size_t>(Activity::tensor_communication)] = to_seconds(out.device - computing);
  return out;
}

FoldedBody in_a_row(const FoldedBody& first, const FoldedBody& second) {
  FoldedBody out = first;
  out.device += second.device;
  out.host += second.host;
  const Picoseconds first_holds = first.lead + first.device + second.device;
  const Picoseconds second_holds = first.host + second.lead + second.device;
  out.lead = std::max(first_holds, second_holds) - out.device;
  out.flop += second.flop;
  out.bytes += second.bytes;
  out.energy_j += second.energy_j;
  for (std::size_t i = 0; i < kActivities; ++i) out.activity_s[i] += second.activity_s[i];
  return out;
}

FoldedBody repeated(const FoldedBody& body, int times) {
  FoldedBody out;
  for (int i = 0; i < times; ++i) out = in_a_row(out, body);
  return out;
}

}  // namespace mirfak
