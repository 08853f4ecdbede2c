#include "cluster/hardware.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

Precision precision_named(const std::string& name) {
  const std::vector<std::string>& names = precision_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) fail_internal("no precision is called '" + name + "'");
  return static_cast<Precision>(found - names.begin());
}

const std::vector<std::string>& wiring_names() {
  static const std::vector<std::string> names = {"switched", "cube-mesh", "host-bridge"};
  return names;
}

const std::vector<std::string>& cooling_names() {
  static const std::vector<std::string> names = {"as-built", "immersion"};
  return names;
}

const std::vector<std::string>& feed_names() {
  static const std::vector<std::string> names = {"as-built", "direct-current"};
  return names;
}

double NodeSpec::idle_host_w() const { return host_idle_power_w ? host_idle_power_w->value : host_power_w.value; }

const std::vector<std::string>& price_kind_names() {
  static const std::vector<std::string> names = {"on-demand", "spot"};
  return names;
}

const std::vector<std::string>& link_end_names() {
  static const std::vector<std::string> names = {"gpus", "host", "nodes"};
  return names;
}

Precision GpuSpec::fitted(Precision precision) const {
  if (gemm.contains(precision)) return precision;
  // Efficiencies fall as the rate of the multipliers grows and feeding them gets harder, so the nearest wider
  // precision is the nearest guess; everything wider than 16 bits shares the 16-bit shape of the curve.
  const Precision last = precision < Precision::bf16 ? Precision::bf16 : precision;
  const auto past = gemm.upper_bound(last);
  if (past == gemm.begin()) fail_internal("GPU '" + name + "' has no GEMM fit");
  return std::prev(past)->first;
}

double GpuSpec::long_run_share(Precision precision) const {
  const auto held = long_run_power.find(precision);
  if (held != long_run_power.end()) return held->second.value;
  // fp16 and bf16 use the same multipliers; multipliers of other precisions draw other powers.
  if (precision != Precision::fp16 && precision != Precision::bf16) return 1;
  const auto other = long_run_power.find(precision == Precision::fp16 ? Precision::bf16 : Precision::fp16);
  return other == long_run_power.end() ? 1 : other->second.value;
}

double GpuSpec::settable_clock_hz(double share) const {
  const double highest = clock_max_hz.value;
  const double steps = std::ceil((1 - share) * highest / clock_step_hz.value - 1e-9);
  return std::max(clock_min_hz.value, highest - steps * clock_step_hz.value);
}

TimeFactors NodeSpec::time_factors() const {
  TimeFactors factors = correction ? correction->factors : TimeFactors{};
  factors.host *= host_factor.value;
  factors.compute *= 1 + dummy_work_slowdown;
  return factors;
}

std::string NodeHardware::name() const { return spec.part ? gpu.name + " of " + spec.name : spec.name; }

double NodeHardware::clock_limit() const { return spec.clock_hz == 0 ? 1 : spec.clock_hz / gpu.clock_max_hz.value; }

double ClockPower::draw(double clock_share) const {
  return static_share.value + (1 - static_share.value) * std::pow(clock_share, exponent.value);
}

const Figure& InSwitchReduction::efficiency_for(int ranks) const {
  const auto past = efficiency_of_ranks.upper_bound(ranks);
  return past == efficiency_of_ranks.begin() ? efficiency : std::prev(past)->second;
}

const Figure& LinkSpec::efficiency_for(int ranks) const {
  if (efficiency_of_ranks.empty() || ranks > efficiency_of_ranks.rbegin()->first) return efficiency;
  const auto past = efficiency_of_ranks.upper_bound(ranks);
  return past == efficiency_of_ranks.begin() ? past->second : std::prev(past)->second;
}

std::string PriceSpec::origin() const {
  if (provider.empty()) return "the scenario";
  std::string out = provider;
  for (const std::string& part : {instance, region, price_kind_names()[static_cast<std::size_t>(kind)], date}) {
    if (!part.empty()) out += " " + part;
  }
  return out;
}

RingProtocols protocols_of(const LinkSpec& link) {
  if (link.protocols) return *link.protocols;
  // NVIDIA/nccl v2.28.9, src/graph/tuning.cc: latencies of rings over NVLink, LL 6.6 + 0.6 us a step, LL128 14 + 1.9,
  // Simple 8.4 + 3.4; LL carries 4 bytes of data in 8, LL128 120 in 128.
  const auto beyond = [](const Figure& figure, double seconds) {
    return Figure{figure.value + seconds, figure.source + "; NCCL's difference between protocols"};
  };
  const auto times = [](const Figure& figure, double share) {
    return Figure{figure.value * share, figure.source + "; NCCL's share of the protocol"};
  };
  RingProtocols out;
  out.ll_efficiency = times(link.efficiency, 0.5);
  out.ll128_base_s = beyond(link.base_latency_s, 7.4e-6);
  out.ll128_step_s = beyond(link.latency_s, 1.3e-6);
  out.ll128_efficiency = times(link.efficiency, 0.92);
  out.simple_base_s = beyond(link.base_latency_s, 1.8e-6);
  out.simple_step_s = beyond(link.latency_s, 2.8e-6);
  out.simple_overlap = {1, "NCCL's model adds latency and transfer"};
  out.extra_steps = {0, "NCCL's model has none"};
  return out;
}

ExchangeFit exchange_of(const LinkSpec& link) {
  if (link.exchange) return *link.exchange;
  ExchangeFit out;
  out.base_s = out.short_base_s = link.send_latency_s;
  out.peer_s = out.short_peer_s = {0, "no measurement"};
  out.efficiency = out.short_efficiency = link.efficiency;
  out.extra_peers = out.settling_s = {0, "no measurement"};
  out.settling_bytes = {1, "no measurement"};
  return out;
}

}  // namespace mirfak
