#include "base/units.hpp"
#include "report/train_report.hpp"
#include "training/training_values.hpp"

#include <cstdint>
#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Its single figures; those with a dot in objects of their own.
void add_figures(const Job& job, const TrainingPrediction& prediction, Json& out) {
  for (const SummaryValue& value : training_values(prediction, job.cluster.facility())) {
    const std::string key = value.key;
    const std::size_t dot = key.find('.');
    Json& place = dot == std::string::npos ? out[key] : out[key.substr(0, dot)][key.substr(dot + 1)];
    if (!value.known) {
      place = nullptr;
    } else if (value.whole) {
      place = static_cast<std::int64_t>(value.number);
    } else {
      place = value.number;
    }
  }
}

}  // namespace

nlohmann::ordered_json train_json(const TrainReport& report, double wall_time_s) {
  Json out = Json::object();
  const TrainingPrediction& prediction = report.prediction;
  const TrainingEstimate& estimate = prediction.estimate;
  add_figures(report.scenario.job, prediction, out);
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
  out["notes"] = report.notes;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
