#include "base/units.hpp"
#include "report/train_report.hpp"

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

void add_times(const TrainingPrediction& prediction, Json& out) {
  const TrainingEstimate& estimate = prediction.estimate;
  out["finish_time_s"] = estimate.finish_p50_s.value;
  out["finish_time_error_s"] = estimate.finish_p50_s.error;
  out["finish_time_p95_s"] = estimate.finish_p95_s.value;
  out["finish_time_p95_error_s"] = estimate.finish_p95_s.error;
  out["finish_time_mean_s"] = estimate.finish_mean_s.value;
  out["finish_time_mean_error_s"] = estimate.finish_mean_s.error;
  out["undisturbed_time_s"] = prediction.undisturbed_s;
  out["iterations"] = prediction.course.calendar.iterations();
  out["goodput"] = estimate.goodput;
  Json& lost = out["lost"] = Json::object();
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (static_cast<TimePart>(part) != TimePart::training) lost[time_part_names()[part] + "_s"] = estimate.parts[part];
  }
}

void add_costs(const Job& job, const TrainingPrediction& prediction, Json& out) {
  const TrainingEstimate& estimate = prediction.estimate;
  const RunningCosts& costs = prediction.course.costs;
  out["cost_usd"] = costs.usd_per_node_s > 0 ? Json(estimate.cost_usd) : Json();
  out["energy_j"] = estimate.energy_j - costs.around_w * estimate.finish_mean_s.value;
  out["machine_energy_j"] = estimate.energy_j;
  out["facility_energy_j"] = estimate.facility_energy_j;
  out["co2_kg"] = costs.carbon.known() ? Json(estimate.co2_kg) : Json();
  out["embodied_co2_kg"] = job.cluster.facility().lifetime_years > 0 ? Json(prediction.embodied_co2_kg) : Json();
  out["gpu_hours"] = prediction.gpu_hours;
  out["nameplate_energy_j"] = prediction.nameplate_energy_j;
  out["nameplate_co2_kg"] =
      costs.carbon.known() ? Json(prediction.nameplate_energy_j / kJoulesPerKilowattHour * costs.carbon.mean() / 1000)
                           : Json();
}

}  // namespace

nlohmann::ordered_json train_json(const Job& job, const TrainingPrediction& prediction, double wall_time_s) {
  Json out = Json::object();
  const TrainingEstimate& estimate = prediction.estimate;
  add_times(prediction, out);
  add_costs(job, prediction, out);
  out["checkpoint_interval_s"] = prediction.course.calendar.tiers().back().interval_s;
  out["best_checkpoint_interval_s"] = or_null(prediction.best_interval_s);
  out["best_memory_interval_s"] = or_null(prediction.best_memory_interval_s);
  out["spares"] = prediction.course.spares;
  out["best_spares"] = or_null(prediction.best_spares);
  out["restarts"] = estimate.restarts;
  Json& causes = out["interruptions"] = Json::array();
  for (std::size_t cause = 0; cause < prediction.course.failures.causes.size(); ++cause) {
    const FailureCause& of = prediction.course.failures.causes[cause];
    causes.push_back({{"cause", of.name},
                      {"rate_per_day", of.rate_per_s * kSecondsPerDay},
                      {"count", estimate.interruptions[cause]},
                      {"lost_s", estimate.lost_s[cause]},
                      {"source", of.source}});
  }
  out["samples"] = estimate.samples;
  out["simulated_days_per_s"] = prediction.simulated_days_per_s;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
