#include "base/units.hpp"
#include "report/train_report.hpp"
#include "training/training_figures.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Adds the single figures of a training; figures with a dot stand in objects of their own.
void add_figures(const Job& job, const TrainingPrediction& prediction, Json& out) {
  for (const FigureValue& value : training_values(prediction, job.cluster.facility())) {
    const std::string& key = value.key();
    const std::size_t dot = key.find('.');
    Json& place = dot == std::string::npos ? out[key] : out[key.substr(0, dot)][key.substr(dot + 1)];
    if (!value.known) {
      place = nullptr;
    } else if (value.figure->whole) {
      place = static_cast<std::int64_t>(value.number);
    } else {
      place = value.number;
    }
  }
}

// Returns the checkpoints of each place where states lie, the quickest first.
Json checkpoints_json(const WorkCalendar& calendar) {
  Json out = Json::array();
  const std::vector<CheckpointTier>& tiers = calendar.tiers();
  if (tiers.size() == 1 && tiers.back().interval_s == 0) return out;
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    out.push_back({{"where", tier + 1 == tiers.size() ? "storage" : "memory"},
                   {"interval_s", tiers[tier].interval_s},
                   {"iterations", calendar.iterations_between_saves(tier)},
                   {"stall_s", tiers[tier].stall_s},
                   {"write_s", tiers[tier].write_s}});
  }
  return out;
}

}  // namespace

Table causes_table(const TrainingPrediction& prediction) {
  const TrainingEstimate& estimate = prediction.estimate;
  const Failures& failures = prediction.course.failures;
  Table table(":cause | >a day:rate_per_day | >in all:count | >nodes:nodes | >time lost:lost_s | source:source");
  for (std::size_t cause = 0; cause < failures.causes.size(); ++cause) {
    const FailureCause& of = failures.causes[cause];
    const double a_day = failures.log.empty()
                             ? of.rate_per_s * kSecondsPerDay
                             : estimate.interruptions[cause] / estimate.finish_mean_s.value * kSecondsPerDay;
    table.add({of.name, as_number(a_day), as_number(estimate.interruptions[cause]), of.nodes,
               in_seconds(estimate.lost_s[cause]), of.source});
  }
  return table;
}

nlohmann::ordered_json train_json(const TrainReport& report, double wall_time_s) {
  Json out = Json::object();
  const TrainingPrediction& prediction = report.prediction;
  const TrainingEstimate& estimate = prediction.estimate;
  add_figures(report.scenario.job, prediction, out);
  out["interruptions"] = causes_table(prediction).json();
  out["checkpoints"] = checkpoints_json(prediction.course.calendar);
  const std::vector<LoggedFailure>& log = prediction.course.failures.log;
  out["log_end_s"] = log.empty() ? Json() : Json(log.back().time_s);
  out["samples"] = estimate.samples;
  out["simulated_days_per_s"] = prediction.simulated_days_per_s;
  out["notes"] = report.notes;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
