// Folding. A body maps the times when device and host are free, (D, H), to the times when they are free after it, by a
// matrix of max-plus algebra. Two of its four entries follow from executing the body with a host that was free long
// before, the other two from executing it with a device that was. The matrices of consecutive bodies are multiplied. If
// the host never waits for the device, one entry is missing, and the product is
//   D = D1 + D2,   L = max(L1 + D2, H1 + L2),   H = H1 + H2     with L = lead + device.
// Example: kernels of 3 and 1 that the host issues in 2 each: D = 4, L = max(2 + 3, 4) + 1 = 6, H = 4, so the device
// may start 2 after the host does.

#include "program/body.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

// A time long before everything else.
constexpr Picoseconds kLongAgo = -(Picoseconds{1} << 60);

// Times when the device streams and the host are free.
struct Clocks {
  Picoseconds device = 0;
  Picoseconds host = 0;
};

// Returns the time when each step ends; sets `clocks.host` to the time when the host is free again. Without
// `host_waits` the host waits for nothing.
template <class TimesOf>
std::vector<Picoseconds> ends(const Body& body, const TimesOf& times_of_step, Clocks& clocks, bool host_waits) {
  std::vector<Picoseconds> end(body.steps.size());
  std::array<Picoseconds, kStreamKinds> free{};
  free.fill(clocks.device);
  Picoseconds& host = clocks.host;
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const BodyStep& step = body.steps[i];
    const auto& times = times_of_step(i);
    if (host_waits && step.host_waits) host = std::max(host, free[static_cast<std::size_t>(StreamKind::compute)]);
    host += times.host;
    Picoseconds start = std::max(free[static_cast<std::size_t>(step.stream)], host);
    for (const int before : step.after) start = std::max(start, end[static_cast<std::size_t>(before)]);
    end[i] = free[static_cast<std::size_t>(step.stream)] = start + times.device;
    host += times.host_behind;
  }
  return end;
}

Picoseconds last_of(const std::vector<Picoseconds>& ends) {
  return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

// Splits the time of a body whose host is never late: into its kernels, and between them into the communication that
// ends last before the compute stream continues.
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

Picoseconds slowed(Picoseconds time, double by) {
  return by == 1 ? time : static_cast<Picoseconds>(std::llround(static_cast<double>(time) * by));
}

BodyStepTimes slowed_times(const BodyStep& step, const ActivityFactors& factors) {
  const double of_host = factors[static_cast<std::size_t>(Activity::host)];
  const Picoseconds held = slowed(step.held, of_host);
  const Picoseconds working = slowed(step.device - step.held, factors[static_cast<std::size_t>(step.activity)]);
  return {working + held, held, slowed(step.host, of_host), slowed(step.host_behind, of_host)};
}

namespace {

struct FoldedTimes {
  FoldedBody body;
  std::vector<Picoseconds> undelayed;  // end of each step if the host is never late
  Picoseconds stall = 0;               // time that the device waits for a host that has waited for it
};

template <class TimesOf>
FoldedTimes fold_by(const Body& body, const TimesOf& times_of_step) {
  FoldedTimes out;
  Clocks without_host{0, kLongAgo};
  out.undelayed = ends(body, times_of_step, without_host, false);
  out.body.device = last_of(out.undelayed);
  const bool waits =
      std::any_of(body.steps.begin(), body.steps.end(), [](const BodyStep& step) { return step.host_waits; });
  if (waits) {
    Clocks early_host{0, kLongAgo};
    out.stall = last_of(ends(body, times_of_step, early_host, true)) - out.body.device;
    out.body.waited = early_host.host;
  }
  out.body.device += out.stall;
  Clocks early_device{kLongAgo, 0};
  out.body.lead = std::max<Picoseconds>(0, last_of(ends(body, times_of_step, early_device, true)) - out.body.device);
  out.body.host = early_device.host;
  return out;
}

}  // namespace

FoldedBody fold_times(const Body& body, const ActivityFactors& factors) {
  std::vector<BodyStepTimes> times;
  times.reserve(body.steps.size());
  for (const BodyStep& step : body.steps) times.push_back(slowed_times(step, factors));
  return fold_by(body, [&](std::size_t i) -> const BodyStepTimes& { return times[i]; }).body;
}

FoldedBody fold(const Body& body) {
  FoldedTimes times = fold_by(body, [&](std::size_t i) -> const BodyStep& { return body.steps[i]; });
  FoldedBody& out = times.body;
  for (const BodyStep& step : body.steps) {
    if (step.stream == StreamKind::compute) out.kernels += step.device;
    out.flop += step.flop;
    out.executed_flop += step.executed_flop;
    out.bytes += step.bytes;
    out.energy_j += step.energy_j;
  }
  out.activity_s = activities(body, times.undelayed);
  out.activity_s[static_cast<std::size_t>(Activity::host)] += to_seconds(times.stall);
  return out;
}

namespace {

// True for a body without work.
bool is_empty(const FoldedBody& body) { return body.device == 0 && body.host == 0 && !body.host_waits(); }

// Appends the constants of time only.
void append_times(FoldedBody& body, const FoldedBody& next) {
  if (is_empty(next)) return;
  // Time from when the host is free to when the device is free.
  const Picoseconds first_issued = body.lead + body.device;
  const Picoseconds next_issued = next.lead + next.device;
  Picoseconds device = body.device + next.device;
  Picoseconds host = body.host + next.host;
  Picoseconds waited = FoldedBody::kNever;
  if (body.host_waits()) {
    const Picoseconds stall = std::max<Picoseconds>(0, body.waited + next_issued - device);
    device += stall;
    body.activity_s[static_cast<std::size_t>(Activity::host)] += to_seconds(stall);
    waited = body.waited + next.host;
  }
  if (next.host_waits()) {
    host = std::max(host, first_issued + next.waited);
    waited = std::max(waited, body.device + next.waited);
  }
  body.lead = std::max(first_issued + next.device, body.host + next_issued) - device;
  body.device = device;
  body.host = host;
  body.waited = waited;
}

}  // namespace

void append(FoldedBody& body, const FoldedBody& next) {
  append_times(body, next);
  body.kernels += next.kernels;
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
