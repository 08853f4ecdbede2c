#include "simulation/summary_values.hpp"

#include "cost/activity.hpp"

#include <cmath>
#include <string>

namespace mirfak {

std::vector<SummaryValue> summary_values(const IterationResult& result) {
  const bool ranged = result.iteration_time_high_s > 0;
  const bool memory_ranged = result.memory_peak_high_bytes > 0;
  const bool asked = result.training_time_s > 0;
  const double iterations = asked ? result.training_time_s / result.iteration_time_s : 0;
  std::vector<SummaryValue> values = {
      {"iteration_time_s", result.iteration_time_s},
      {"iteration_time_low_s", result.iteration_time_low_s, ranged},
      {"iteration_time_high_s", result.iteration_time_high_s, ranged},
      {"tokens_per_s", result.tokens_per_s},
      {"tokens_per_s_per_gpu", result.tokens_per_s_per_gpu},
      {"tflops_per_gpu", result.tflops_per_gpu},
      {"hardware_tflops_per_gpu", result.hardware_tflops_per_gpu},
      {"mfu", result.mfu},
      {"hfu", result.hfu},
      {"gpus", static_cast<double>(result.gpus), true, true},
      {"model_flop", result.model_flop},
      {"hardware_flop", result.hardware_flop},
      {"visible_flop", result.visible_flop},
      {"executed_flop", result.executed_flop},
      {"bubble_fraction", result.bubble_fraction},
      {"gpu_of_others_s", result.gpu_of_others_s},
      {"exposed_communication_s", result.exposed_communication_s},
      {"memory_peak_bytes", result.memory_peak_bytes},
      {"memory_peak_low_bytes", result.memory_peak_low_bytes, memory_ranged},
      {"memory_peak_high_bytes", result.memory_peak_high_bytes, memory_ranged},
      {"memory_capacity_bytes", result.memory_capacity_bytes},
      {"energy_j", result.energy_j},
      {"average_power_w", result.average_power_w},
      {"cost_usd_per_iteration", result.cost_usd, result.priced},
      {"training_time_s", result.training_time_s, asked},
      {"training_iterations", iterations, asked},
      {"training_energy_j", result.energy_j * iterations, asked},
      {"training_cost_usd", result.training_cost_usd, asked && result.priced},
      {"events", static_cast<double>(result.events), true, true},
  };
  for (SummaryValue& value : values) value.known = value.known && std::isfinite(value.number);
  return values;
}

namespace {

// Keys of activities, which live as long as the program.
const std::vector<std::string>& activity_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < kActivities; ++i) out.push_back(std::string(key_of(static_cast<Activity>(i))) + "_s");
    return out;
  }();
  return keys;
}

}  // namespace

std::vector<SummaryValue> result_values(const IterationResult& result, const Facility& facility) {
  std::vector<SummaryValue> out = summary_values(result);
  out.push_back({"machine_energy_j", result.machine_energy_j, facility.asked, false, false, facility.asked});
  out.push_back({"facility_energy_j", result.facility_energy_j, facility.asked, false, false, facility.asked});
  out.push_back({"co2_kg", result.co2_kg, facility.asked && facility.carbon.known(), false, false, facility.asked});
  out.push_back({"embodied_co2_kg", result.embodied_co2_kg, facility.asked, false, false, facility.asked});
  out.push_back({"fits", result.fits ? 1.0 : 0.0, true, false, true});
  const bool sized = result.memory_capacity_bytes > 0;
  out.push_back({"memory_headroom", sized ? 1 - result.memory_peak_bytes / result.memory_capacity_bytes : 0, sized});
  for (std::size_t i = 0; i < kActivities; ++i) {
    out.push_back({activity_keys()[i].c_str(), result.activity_s[i], true, false, false, false});
  }
  return out;
}

std::vector<SummaryValue> result_values_at(IterationResult result, const Facility& facility, double seconds,
                                           double peak_bytes) {
  const double factor = seconds / result.iteration_time_s;
  for (double* const rate : {&result.tokens_per_s, &result.tokens_per_s_per_gpu, &result.tflops_per_gpu,
                             &result.hardware_tflops_per_gpu, &result.mfu, &result.hfu}) {
    *rate /= factor;
  }
  for (double* const amount :
       {&result.iteration_time_s, &result.gpu_of_others_s, &result.exposed_communication_s, &result.energy_j,
        &result.cost_usd, &result.machine_energy_j, &result.facility_energy_j, &result.co2_kg, &result.embodied_co2_kg,
        &result.training_time_s, &result.training_cost_usd}) {
    *amount *= factor;
  }
  for (double& activity : result.activity_s) activity *= factor;
  result.memory_peak_bytes = peak_bytes;
  result.fits = peak_bytes <= result.memory_capacity_bytes;
  return result_values(result, facility);
}

}  // namespace mirfak
