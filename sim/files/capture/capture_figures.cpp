#include "capture/capture_figures.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace mirfak {

namespace {

struct CapturedFigure {
  std::string_view key;
  std::function<double(const CaptureResult&)> number;
};

double hardware_flop(const CaptureResult& result) { return result.flop * static_cast<double>(result.gpus); }
double share_of_time(double seconds, const CaptureResult& result) {
  return result.iteration_s > 0 ? seconds / result.iteration_s : 0;
}

auto mean(double CapturedTimes::*of) {
  return [of](const CaptureResult& result) { return result.mean.*of; };
}
auto fullest(double CapturedRankResult::*of) {
  return [of](const CaptureResult& result) { return result.ranks[result.fullest].*of; };
}
auto power(double PowerFigures::*of) {
  return [of](const CaptureResult& result) { return result.power ? (*result.power).*of : 0; };
}
auto facility(double FacilityUse::*of) {
  return [of](const CaptureResult& result) { return result.facility.*of; };
}

const std::vector<CapturedFigure>& captured_figures() {
  static const std::vector<CapturedFigure> all = {
      {"iteration_time_s", [](const CaptureResult& of) { return of.iteration_s; }},
      {"iteration_time_low_s", [](const CaptureResult& of) { return of.range.low_s; }},
      {"iteration_time_high_s", [](const CaptureResult& of) { return of.range.high_s; }},
      {"hardware_tflops_per_gpu", [](const CaptureResult& of) { return share_of_time(of.flop, of) / 1e12; }},
      {"gpus", [](const CaptureResult& of) { return static_cast<double>(of.gpus); }},
      {"hardware_flop", hardware_flop},
      {"bubble_fraction", [](const CaptureResult& of) { return share_of_time(of.mean.waiting_s, of); }},
      {"exposed_communication_s", mean(&CapturedTimes::communication_s)},
      {"memory_peak_bytes", fullest(&CapturedRankResult::memory_bytes)},
      {"memory_capacity_bytes", fullest(&CapturedRankResult::capacity_bytes)},
      {"energy_j", [](const CaptureResult& of) { return of.energy_j; }},
      {"energy_low_j", [](const CaptureResult& of) { return of.energy.low_j; }},
      {"energy_high_j", [](const CaptureResult& of) { return of.energy.high_j; }},
      {"average_power_w", [](const CaptureResult& of) { return share_of_time(of.energy_j, of); }},
      {"power_peak_w", power(&PowerFigures::peak_w)},
      {"power_swing_w", power(&PowerFigures::swing_w)},
      {"power_max_ramp_w_per_s", power(&PowerFigures::max_ramp_w_per_s)},
      {"cost_usd_per_iteration", [](const CaptureResult& of) { return of.cost_usd.value_or(0); }},
      {"events", [](const CaptureResult& of) { return static_cast<double>(of.events); }},
      {"machine_energy_j", facility(&FacilityUse::machine_energy_j)},
      {"facility_energy_j", facility(&FacilityUse::facility_energy_j)},
      {"co2_kg", facility(&FacilityUse::co2_kg)},
      {"embodied_co2_kg", facility(&FacilityUse::embodied_co2_kg)},
      {"fits", [](const CaptureResult& of) { return of.fits ? 1.0 : 0.0; }},
      {"memory_headroom",
       [](const CaptureResult& of) {
         const CapturedRankResult& rank = of.ranks[of.fullest];
         return 1 - rank.needed_bytes / rank.capacity_bytes;
       }},
      {"gemm_s", mean(&CapturedTimes::gemm_s)},
      {"attention_s", mean(&CapturedTimes::attention_s)},
      {"memory_bound_s", mean(&CapturedTimes::memory_bound_s)},
      {"optimizer_s", mean(&CapturedTimes::optimizer_s)},
      {"host_s", mean(&CapturedTimes::host_s)},
      {"bubble_s", mean(&CapturedTimes::waiting_s)},
  };
  return all;
}

bool is_known(const IterationFigure& figure, const CaptureResult& result, const Facility& facility) {
  if (figure.key == "cost_usd_per_iteration") return result.cost_usd.has_value();
  if (figure.key == "iteration_time_low_s" || figure.key == "iteration_time_high_s") return result.range.high_s > 0;
  if (figure.key == "energy_low_j" || figure.key == "energy_high_j") return result.energy.known();
  if (figure.key.starts_with("power_")) return result.power.has_value();
  if (figure.key == "co2_kg") return facility.asked && facility.carbon.known();
  return !figure.facility || facility.asked;
}

}  // namespace

std::vector<FigureValue> figure_values(const CaptureResult& result, const Facility& facility) {
  std::vector<FigureValue> out;
  for (const IterationFigure& figure : iteration_figures()) {
    const auto& all = captured_figures();
    const auto of =
        std::find_if(all.begin(), all.end(), [&](const CapturedFigure& one) { return one.key == figure.key; });
    if (of == all.end()) {
      out.push_back({&figure, 0, false, false});
      continue;
    }
    const bool asked = !figure.elsewhere && (!figure.facility || facility.asked);
    out.push_back({&figure, of->number(result), is_known(figure, result, facility), asked});
  }
  return out;
}

}  // namespace mirfak
