// Folding. Two numbers describe when a body ends: its length when only the device's streams hold it back, and when
// only the host does. Both come from executing it once. In a row, the second body's device entry is the first's
// end and its host entry the first's host end, so (D, L, H) compose:
//   D = D1 + D2,   L = max(L1 + D2, H1 + L2),   H = H1 + H2     with L = lead + device.
// Example: kernels of 3 and 1 that the host issues in 2 each: D = 4, L = max(2 + 3, 4) + 1 = 6, H = 4, so the
// device may start 2 after the host does.

#include "program/body.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

namespace {

// Up to when streams and host are busy.
struct Clocks {
  std::array<Picoseconds, kStreamKinds> free{};
  Picoseconds issued = 0;
  Picoseconds waited = 0;  // when the host had last waited for the device
};

// When each step ends from `clocks` on, which it moves; with `host_issues`, steps wait for the host.
std::vector<Picoseconds> ends(const Body& body, bool host_issues, Clocks& clocks) {
  std::vector<Picoseconds> end(body.steps.size());
  auto& free = clocks.free;
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const BodyStep& step = body.steps[i];
    Picoseconds start = free[static_cast<std::size_t>(step.stream)];
    if (host_issues) {
      if (step.host_waits) {
        clocks.waited = clocks.issued = std::max(clocks.issued, free[static_cast<std::size_t>(StreamKind::compute)]);
      }
      start = std::max(start, clocks.issued += step.host);
    }
    for (const int before : step.after) start = std::max(start, end[static_cast<std::size_t>(before)]);
    end[i] = free[static_cast<std::size_t>(step.stream)] = start + step.device;
    clocks.issued += step.host_behind;
  }
  return end;
}

// If the streams are free at 0 and, with `host_issues`, the host starts at 0.
std::vector<Picoseconds> ends(const Body& body, bool host_issues) {
  Clocks clocks;
  return ends(body, host_issues, clocks);
}

Picoseconds last_of(const std::vector<Picoseconds>& ends) {
  return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

// One of a long row of bodies like it that the host issues.
struct InRow {
  Picoseconds lasts = 0;   // from the end of the body before it to its own
  Picoseconds waited = 0;  // from there to where the host has last waited for the device
};

InRow in_row(const Body& body) {
  Clocks clocks;
  Picoseconds before = 0;
  Picoseconds last = 0;
  for (int i = 0; i < 3; ++i) {
    before = last;
    last = last_of(ends(body, true, clocks));
    clocks.free.fill(last);
  }
  return {last - before, std::max<Picoseconds>(0, clocks.waited - before)};
}

// Of the host's work, that behind its last wait for the device.
Picoseconds host_behind_waits(const Body& body) {
  Picoseconds out = 0;
  for (std::size_t i = body.steps.size(); i-- > 0;) {
    out += body.steps[i].host + body.steps[i].host_behind;
    if (body.steps[i].host_waits) break;
  }
  return out;
}

// Where the time of a body goes when its host is never late: to its kernels, and between them to the communication
// that ends last before the compute stream goes on.
ActivitySeconds activities(const Body& body, const std::vector<Picoseconds>& end) {
  ActivitySeconds out{};
  Picoseconds free = 0;
  const auto spend = [&](Activity activity, Picoseconds time) {
    out[static_cast<std::size_t>(activity)] += to_seconds(time);
  };
  const auto wait = [&](Picoseconds until) {
    if (until <= free) return;
    Picoseconds latest = free;
    Activity by = Activity::tensor_communication;
    for (std::size_t i = 0; i < body.steps.size(); ++i) {
      if (body.steps[i].stream == StreamKind::compute || end[i] <= latest || end[i] > until) continue;
      latest = end[i];
      by = body.steps[i].activity;
    }
    spend(by, until - free);
    free = until;
  };
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const BodyStep& step = body.steps[i];
    if (step.stream != StreamKind::compute) continue;
    wait(end[i] - step.device);
    spend(Activity::host, step.held);
    spend(step.activity, step.device - step.held);
    free = end[i];
  }
  wait(last_of(end));
  return out;
}

}  // namespace

BodyStep kernel_step(std::string name, const KernelModel& kernels, const KernelCost& cost) {
  BodyStep step;
  step.name = std::move(name);
  step.activity = cost.activity;
  step.device = to_picoseconds(cost.seconds);
  step.flop = cost.flop;
  step.executed_flop = cost.executed_flop;
  step.bytes = cost.bytes;
  step.energy_j = energy_above_waiting_j(kernels, cost);
  step.clocked_s = cost.clocked_s;
  step.draw = cost.draw;
  return step;
}

FoldedBody fold(const Body& body) {
  FoldedBody out;
  const std::vector<Picoseconds> undelayed = ends(body, false);
  out.device = last_of(undelayed);
  const bool waits =
      std::any_of(body.steps.begin(), body.steps.end(), [](const BodyStep& step) { return step.host_waits; });
  Picoseconds stall = 0;
  if (waits) {
    const InRow among_others = in_row(body);
    stall = std::max<Picoseconds>(0, among_others.lasts - out.device);
    out.waited = among_others.waited;
    out.host_behind = host_behind_waits(body);
  }
  out.device += stall;
  out.lead = std::max<Picoseconds>(0, last_of(ends(body, true)) - out.device);
  for (const BodyStep& step : body.steps) {
    if (step.stream == StreamKind::compute) out.kernels += step.device;
    out.host += step.host + step.host_behind;
    out.flop += step.flop;
    out.executed_flop += step.executed_flop;
    out.bytes += step.bytes;
    out.energy_j += step.energy_j;
  }
  out.activity_s = activities(body, undelayed);
  out.activity_s[static_cast<std::size_t>(Activity::host)] += to_seconds(stall);
  return out;
}

void append(FoldedBody& body, const FoldedBody& next) {
  const Picoseconds body_holds = body.lead + body.device + next.device;
  const Picoseconds next_holds = body.host + next.lead + next.device;
  if (next.waited > 0) {
    body.waited = body.device + next.waited;
    body.host_behind = next.host_behind;
  } else {
    body.host_behind += next.host;
  }
  body.device += next.device;
  body.host += next.host;
  body.kernels += next.kernels;
  body.lead = std::max(body_holds, next_holds) - body.device;
  body.flop += next.flop;
  body.executed_flop += next.executed_flop;
  body.bytes += next.bytes;
  body.energy_j += next.energy_j;
  for (std::size_t i = 0; i < kActivities; ++i) body.activity_s[i] += next.activity_s[i];
}

FoldedBody repeated(const FoldedBody& body, int times) {
  FoldedBody out;
  for (int i = 0; i < times; ++i) append(out, body);
  return out;
}

}  // namespace mirfak
