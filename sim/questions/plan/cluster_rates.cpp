#include "plan/cluster_rates.hpp"

#include "base/units.hpp"
#include "plan/layout_bound.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

Merit ClusterRates::least(double seconds, double working_j) const {
  if (cap_w > 0 && working_j > 0) {
    const double left_w = cap_w - blocked_w * kRounding;
    const double never = std::numeric_limits<double>::infinity();
    seconds = std::max(seconds, left_w > 0 ? working_j * kRounding / left_w * kRounding : never);
  }
  return at(seconds, (working_j + blocked_w * seconds) * kRounding);
}

Merit ClusterRates::least(double seconds, double working_j, std::span<const WorkPlace> places, double units) const {
  Merit out = least(seconds, working_j);
  out.energy_j = std::max(out.energy_j, least_energy(places, units, out.time_s, blocked_w) * kRounding);
  return out;
}

ClusterRates rates_of(const Cluster& cluster, const NodeCounts& counts, double cap_w) {
  ClusterRates out;
  out.cap_w = cap_w;
  bool priced = true;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const NodeGroup& group = cluster.groups()[i];
    const double gpus = static_cast<double>(counts[i]) * group.hardware.spec.gpus_of_kind();
    out.blocked_w += gpus * group.hardware.gpu.blocked_w.value;
    priced = priced && group.price;
    if (group.price) out.usd_per_s += gpus * group.price->usd_per_gpu_hour.value / kSecondsPerHour;
  }
  if (!priced) out.usd_per_s = 0;
  return out;
}

}  // namespace mirfak
