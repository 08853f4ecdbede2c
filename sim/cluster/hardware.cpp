#include "cluster/hardware.hpp"

#include "base/error.hpp"

#include <array>

namespace mirfak {

double bytes_per_element(Precision precision) {
  constexpr std::array<double, kPrecisions> bytes = {4, 4, 2, 2, 1, 0.5};
  return bytes[static_cast<std::size_t>(precision)];
}

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"};
  return names;
}

const std::string& name_of(Precision precision) { return precision_names()[static_cast<std::size_t>(precision)]; }

const std::vector<std::string>& wiring_names() {
  static const std::vector<std::string> names = {"switched", "cube-mesh", "host-bridge"};
  return names;
}

const std::vector<std::string>& price_kind_names() {
  static const std::vector<std::string> names = {"on-demand", "spot"};
  return names;
}

const GemmFit& GpuSpec::gemm_fit(Precision precision) const {
  // Efficiencies fall as the rate of the multipliers grows and feeding them gets harder, so the nearest wider
  // precision is the nearest guess; everything wider than 16 bits shares the 16-bit shape of the curve.
  const Precision last = precision < Precision::bf16 ? Precision::bf16 : precision;
  const auto past = gemm.upper_bound(last);
  if (past == gemm.begin()) fail_internal("GPU '" + name + "' has no GEMM fit");
  return std::prev(past)->second;
}

const Figure& LinkSpec::efficiency_for(int ranks) const {
  if (efficiency_of_ranks.empty() || ranks > efficiency_of_ranks.rbegin()->first) return efficiency;
  const auto past = efficiency_of_ranks.upper_bound(ranks);
  return past == efficiency_of_ranks.begin() ? past->second : std::prev(past)->second;
}

}  // namespace mirfak
