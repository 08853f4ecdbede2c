#include "training/training_values.hpp"

#include "cluster/carbon.hpp"

#include <string>

namespace mirfak {

namespace {

// Keys of what takes lost time, which live as long as the program.
const std::vector<std::string>& lost_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> out;
    for (const std::string& name : time_part_names()) out.push_back("lost." + name + "_s");
    return out;
  }();
  return keys;
}

bool is_lost(std::size_t part) { return static_cast<TimePart>(part) != TimePart::training; }

void add_finish(const TrainingPrediction& prediction, std::vector<SummaryValue>& out) {
  const TrainingEstimate& estimate = prediction.estimate;
  out.push_back({"finish_time_s", estimate.finish_p50_s.value});
  out.push_back({"finish_time_error_s", estimate.finish_p50_s.error});
  out.push_back({"finish_time_p95_s", estimate.finish_p95_s.value});
  out.push_back({"finish_time_p95_error_s", estimate.finish_p95_s.error});
  out.push_back({"finish_time_mean_s", estimate.finish_mean_s.value});
  out.push_back({"finish_time_mean_error_s", estimate.finish_mean_s.error});
  out.push_back({"undisturbed_time_s", prediction.undisturbed_s});
  out.push_back({"iterations", static_cast<double>(prediction.course.calendar.iterations()), true, true});
  out.push_back({"goodput", estimate.goodput});
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (is_lost(part)) out.push_back({lost_keys()[part].c_str(), estimate.parts[part]});
  }
}

void add_consumption(const TrainingPrediction& prediction, const Facility& facility, std::vector<SummaryValue>& out) {
  const TrainingEstimate& estimate = prediction.estimate;
  const RunningCosts& costs = prediction.course.costs;
  const bool carbon = costs.carbon.known();
  out.push_back({"cost_usd", estimate.cost_usd, costs.usd_per_node_s > 0});
  out.push_back({"energy_j", estimate.energy_j - costs.around_w * estimate.finish_mean_s.value});
  out.push_back({"machine_energy_j", estimate.energy_j});
  out.push_back({"facility_energy_j", estimate.facility_energy_j});
  out.push_back({"co2_kg", estimate.co2_kg, carbon});
  out.push_back({"embodied_co2_kg", prediction.embodied_co2_kg, facility.lifetime_years > 0});
  out.push_back({"gpu_hours", prediction.gpu_hours});
  out.push_back({"nameplate_energy_j", prediction.nameplate_energy_j});
  const double grams_per_kwh = carbon ? costs.carbon.mean() : 0;
  out.push_back(
      {"nameplate_co2_kg", prediction.nameplate_energy_j / kJoulesPerKilowattHour * grams_per_kwh / 1000, carbon});
}

template <typename T>
SummaryValue optional_value(const char* key, const std::optional<T>& value, bool whole) {
  return {key, static_cast<double>(value.value_or(T{})), value.has_value(), whole};
}

void add_operations(const TrainingPrediction& prediction, std::vector<SummaryValue>& out) {
  out.push_back({"checkpoint_interval_s", prediction.course.calendar.tiers().back().interval_s});
  out.push_back(optional_value("best_checkpoint_interval_s", prediction.best_interval_s, false));
  out.push_back(optional_value("best_memory_interval_s", prediction.best_memory_interval_s, false));
  out.push_back({"spares", static_cast<double>(prediction.course.spares), true, true});
  out.push_back(optional_value("best_spares", prediction.best_spares, true));
  out.push_back({"restarts", prediction.estimate.restarts});
}

}  // namespace

std::vector<SummaryValue> training_values(const TrainingPrediction& prediction, const Facility& facility) {
  std::vector<SummaryValue> out;
  add_finish(prediction, out);
  add_consumption(prediction, facility, out);
  add_operations(prediction, out);
  return out;
}

std::vector<SummaryValue> training_keys() {
  const TrainingPrediction shortest{{WorkCalendar({{1, 1, 1}}, {{}}, {})}};
  return training_values(shortest, {});
}

std::vector<SummaryValue> training_values_at(TrainingPrediction prediction, const Facility& facility, double errors) {
  TrainingEstimate& estimate = prediction.estimate;
  const double mean_s = estimate.finish_mean_s.value;
  for (Estimated* const time : {&estimate.finish_p50_s, &estimate.finish_p95_s, &estimate.finish_mean_s}) {
    time->value += errors * time->error;
  }
  const double factor = estimate.finish_mean_s.value / mean_s;
  const double trained_s = estimate.parts[static_cast<std::size_t>(TimePart::training)];
  const double lost_factor = mean_s > trained_s ? (factor * mean_s - trained_s) / (mean_s - trained_s) : 1;
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (is_lost(part)) estimate.parts[part] *= lost_factor;
  }
  estimate.goodput /= factor;
  for (double* const amount : {&estimate.cost_usd, &estimate.energy_j, &estimate.facility_energy_j, &estimate.co2_kg,
                               &prediction.gpu_hours, &prediction.nameplate_energy_j, &prediction.embodied_co2_kg}) {
    *amount *= factor;
  }
  return training_values(prediction, facility);
}

}  // namespace mirfak
