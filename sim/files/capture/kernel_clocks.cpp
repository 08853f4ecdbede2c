// The controller sees a moving average of the draw. Around a kernel at time t of a step of length T lies the window
// from t - W/2 to t + W/2; as steps follow each other, the window goes round: before the first kernel lies the last.
// Sums up to a time are interpolated within kernels, so that clocks change smoothly from kernel to kernel.
#include "capture/kernel_clocks.hpp"

#include "cost/power_limit.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

// Sums over the kernels up to a time: of their time at the full clock, and of the work in it that depends on the clock.
struct Sums {
  double seconds = 0;
  double clocked_s = 0;
  double clocked_energy = 0;  // seconds x share of the power limit
};

class Step {
 public:
  explicit Step(std::span<const KernelCost* const> costs) {
    sums_.reserve(costs.size() + 1);
    sums_.emplace_back();
    for (const KernelCost* cost : costs) {
      Sums next = sums_.back();
      next.seconds += cost->seconds;
      next.clocked_s += cost->clocked_s;
      next.clocked_energy += cost->clocked_s * cost->draw;
      sums_.push_back(next);
    }
  }
  double length() const { return sums_.back().seconds; }
  double middle(std::size_t kernel) const { return (sums_[kernel].seconds + sums_[kernel + 1].seconds) / 2; }

  // Sums up to a time, which may lie in the step before or after.
  Sums until(double time) const {
    const double turns = std::floor(time / length());
    const double rest = time - turns * length();
    const auto after = std::upper_bound(sums_.begin(), sums_.end(), rest,
                                        [](double at, const Sums& sums) { return at < sums.seconds; });
    const Sums& last = after == sums_.end() ? sums_.back() : *after;
    const Sums& first = after == sums_.begin() ? sums_.front() : *std::prev(after);
    const double width = last.seconds - first.seconds;
    const double part = width > 0 ? (rest - first.seconds) / width : 0;
    const auto at = [&](double Sums::*sum) {
      return turns * sums_.back().*sum + first.*sum + part * (last.*sum - first.*sum);
    };
    return {at(&Sums::seconds), at(&Sums::clocked_s), at(&Sums::clocked_energy)};
  }

 private:
  std::vector<Sums> sums_;  // before each kernel, and after all
};

}  // namespace

std::vector<double> kernel_clocks(std::span<const KernelCost* const> costs, double idle_s, const GpuSpec& gpu) {
  const Step step(costs);
  std::vector<double> out(costs.size(), gpu.sustained_share.value);
  if (step.length() <= 0) return out;
  const double window_s = std::min(kPowerWindow_s, step.length());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Sums first = step.until(step.middle(i) - window_s / 2);
    const Sums last = step.until(step.middle(i) + window_s / 2);
    const double clocked_s = last.clocked_s - first.clocked_s;
    PowerMix mix(gpu);
    if (clocked_s > 0) mix.add_clocked(clocked_s, (last.clocked_energy - first.clocked_energy) / clocked_s);
    mix.add_memory_bound(std::max(0.0, window_s - clocked_s));
    mix.add_other(idle_s * window_s / step.length(), gpu.blocked_w.value / gpu.tdp_w.value);
    out[i] = std::min(mix.clock_share(), gpu.sustained_share.value);
  }
  return out;
}

}  // namespace mirfak
