#include "simulation/summary_values.hpp"

#include <cmath>

namespace mirfak {

std::vector<SummaryValue> summary_values(const IterationResult& result) {
  const bool ranged = result.iteration_time_high_s > 0;
  const bool memory_ranged = result.memory_peak_high_bytes > 0;
  const bool asked = result.training_time_s > 0;
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
      {"exposed_communication_s", result.exposed_communication_s},
      {"memory_peak_bytes", result.memory_peak_bytes},
      {"memory_peak_low_bytes", result.memory_peak_low_bytes, memory_ranged},
      {"memory_peak_high_bytes", result.memory_peak_high_bytes, memory_ranged},
      {"memory_capacity_bytes", result.memory_capacity_bytes},
      {"energy_j", result.energy_j},
      {"average_power_w", result.average_power_w},
      {"cost_usd_per_iteration", result.cost_usd, result.priced},
      {"training_time_s", result.training_time_s, asked},
      {"training_cost_usd", result.training_cost_usd, asked && result.priced},
      {"events", static_cast<double>(result.events), true, true},
  };
  for (SummaryValue& value : values) value.known = value.known && std::isfinite(value.number);
  return values;
}

}  // namespace mirfak
