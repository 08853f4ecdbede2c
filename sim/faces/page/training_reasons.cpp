#include "page/training_reasons.hpp"

#include "base/units.hpp"
#include "page/figure_reasons.hpp"
#include "simulation/iteration.hpp"
#include "training/training_figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns a product such as "20.2 restarts x 10 min = 202 min". Counts are means over runs, with fractions.
std::string times_text(double count, double seconds, const char* what) {
  return fmt::format("{} {} x {} = {}", format_number(count), what, format_seconds(seconds / count),
                     format_seconds(seconds));
}

class TrainingReasons {
 public:
  explicit TrainingReasons(const TrainReport& report)
      : job_(report.scenario.job),
        prediction_(report.prediction),
        estimate_(report.prediction.estimate),
        course_(report.prediction.course) {}

  Json json() {
    add_finish();
    add_undisturbed();
    add_after_failures();
    add_pauses();
    add_consumption();
    add_co2();
    add_checkpoints();
    return std::move(out_);
  }

 private:
  // Adds a figure with its meaning, its formula with the numbers of this training, and the sections to read on.
  void add(const std::string& key, const std::string& formula = "", const std::vector<std::string>& see = {}) {
    put(key, training_figure(key).meaning, formula, see);
  }
  void put(const std::string& key, const std::string& meaning, const std::string& formula = "",
           const std::vector<std::string>& see = {}) {
    Json& entry = out_[key] = {{"meaning", meaning}};
    if (!formula.empty()) entry["formula"] = formula;
    entry["see"] = see;
  }

  double part(TimePart of) const { return estimate_.parts[static_cast<std::size_t>(of)]; }
  std::string mean() const { return format_seconds(estimate_.finish_mean_s.value); }

  // Returns the parts of the time as a sum: "undisturbed 110 days + rework 2.45 days = 121 days".
  std::string sum_text() const {
    std::string text = "undisturbed " + format_seconds(prediction_.undisturbed_s);
    for (std::size_t i = 0; i < kTimeParts; ++i) {
      if (static_cast<TimePart>(i) == TimePart::training || estimate_.parts[i] <= 0) continue;
      text += fmt::format(" + {} {}", time_part_names()[i], format_seconds(estimate_.parts[i]));
    }
    return text + " = " + mean();
  }

  void add_finish() {
    const std::string runs = fmt::format("of {} simulated runs, each with failures of its own", estimate_.samples);
    add("finish_time_s", runs + "; the mean run: " + sum_text());
    add("finish_time_p95_s", runs);
    add("finish_time_mean_s", sum_text());
    for (const char* key : {"finish_time_error_s", "finish_time_p95_error_s", "finish_time_mean_error_s"}) add(key);
    add("goodput", fmt::format("{} / {} = {}", format_seconds(part(TimePart::training)), mean(),
                               format_percent(estimate_.goodput)));
    put("samples", "Runs that were simulated: more of them make the error by chance smaller.");
    put("simulated_days_per_s", "How fast they were simulated.");
    put("wall_time_s", "What the command took on this machine until it wrote this page.");
  }

  void add_undisturbed() {
    std::string formula;
    for (const WorkPhase& phase : course_.calendar.phases()) {
      formula += fmt::format("{}{} iterations x {}", formula.empty() ? "" : " + ",
                             format_count(static_cast<double>(phase.iterations)), format_seconds(phase.iteration_s));
    }
    add("undisturbed_time_s", formula + " = " + format_seconds(prediction_.undisturbed_s), {"The iteration"});
    add("iterations");
  }

  // Adds a part of the lost time: the mean time that each restart costs, and further known facts.
  void add_lost(const char* name, TimePart of, const std::string& known = "") {
    const double seconds = part(of);
    const bool happens = seconds > 0 && estimate_.restarts > 0;
    std::string formula = happens ? times_text(estimate_.restarts, seconds, "restarts") : "";
    if (!known.empty()) formula += (formula.empty() ? "" : "; ") + known;
    add(std::string("lost.") + name, formula);
  }

  void add_after_failures() {
    const CheckpointTier& storage = course_.calendar.tiers().back();
    std::string since = storage.interval_s > 0 ? fmt::format("states are saved on storage every {} of training",
                                                             format_seconds(storage.interval_s))
                                               : std::string("every iteration's state lasts, at no cost");
    if (course_.calendar.tiers().size() > 1) {
      since += fmt::format(", and in the memory of other nodes every {}",
                           format_seconds(course_.calendar.tiers().front().interval_s));
    }
    if (storage.write_s > 0)
      since += fmt::format("; one counts {} after it was begun", format_seconds(storage.write_s));
    add_lost("rework_s", TimePart::rework, since);
    add_lost("detection_s", TimePart::detection,
             fmt::format("{} each (operations.detection_s)", format_seconds(course_.detection_s)));
    add_lost("waiting_s", TimePart::waiting, fmt::format("with {} spares", course_.spares));
    add_lost("restart_s", TimePart::restart,
             fmt::format("{} each (operations.restart_s)", format_seconds(course_.restart_s)));
    add_lost("reading_s", TimePart::reading);
    add("lost.slowed_s",
        course_.nodes_per_replica > 0 ? "" : "the job does not go on with fewer replicas (operations.without_spares)");
    double often = 0;
    for (const FailureCause& cause : course_.failures.causes) often += cause.rate_per_s;
    add("restarts", often > 0 && course_.failures.log.empty()
                        ? fmt::format("about {} a day x {}", format_number(often * kSecondsPerDay), mean())
                        : "");
  }

  void add_pauses() {
    std::string saves;
    for (const CheckpointTier& tier : course_.calendar.tiers()) {
      if (tier.stall_s <= 0) continue;
      saves += fmt::format("{}{} {} each", saves.empty() ? "" : ", ", tier.in_memory ? "in memory" : "on storage",
                           format_seconds(tier.stall_s));
    }
    const bool counted = course_.calendar.tiers().size() == 1 && part(TimePart::saving) > 0;
    add("lost.saving_s", saves.empty() ? "no save makes it wait"
                         : counted     ? times_text(part(TimePart::saving) / course_.calendar.tiers().back().stall_s,
                                                    part(TimePart::saving), "saves")
                                       : saves);
    const EvaluationPause& evaluation = course_.calendar.evaluation();
    add("lost.evaluation_s", evaluation.every > 0 ? fmt::format("every {} iterations, {} each", evaluation.every,
                                                                format_seconds(evaluation.duration_s))
                                                  : "none are stated");
    const Maintenance& maintenance = course_.maintenance;
    add("lost.maintenance_s", maintenance.every_s > 0
                                  ? fmt::format("every {}, {} each", format_seconds(maintenance.every_s),
                                                format_seconds(maintenance.duration_s))
                                  : "none is stated");
  }

  void add_consumption() {
    const RunningCosts& costs = course_.costs;
    if (costs.usd_per_node_s > 0) {
      add("cost_usd",
          fmt::format("({} nodes + {} spares) x {} an hour x {} = {}", course_.nodes, course_.spares,
                      format_price(costs.usd_per_node_s * kSecondsPerHour), mean(), format_usd(estimate_.cost_usd)));
    } else {
      put("cost_usd", job_.cluster.missing_prices());
    }
    add("energy_j",
        fmt::format("{} of the machine - {} of hosts and network = {}", format_joules(estimate_.energy_j),
                    format_joules(estimate_.around_j), format_joules(estimate_.energy_j - estimate_.around_j)),
        {"Memory, power and price"});
    add("machine_energy_j",
        fmt::format("idle {}, hosts and network {} of it ({} while it trains)", format_watts(costs.idle_w),
                    format_watts(costs.around_idle_w), format_watts(costs.around_working_w)));
    add("facility_energy_j",
        fmt::format("{} x {:g} + {} x {} = {}", format_joules(estimate_.energy_j), costs.pue,
                    format_watts(costs.cooling_w), mean(), format_joules(estimate_.facility_energy_j)));
    for (const char* energy : {"energy", "machine_energy", "facility_energy"}) {
      for (const char* end : {"_low_j", "_high_j"}) add(std::string(energy) + end);
    }
    add("gpu_hours",
        fmt::format("{} GPUs x {} = {}", job_.cluster.physical_gpus(), mean(), format_count(prediction_.gpu_hours)));
    add("nameplate_energy_j",
        fmt::format("{} GPU hours x {} = {}", format_count(prediction_.gpu_hours),
                    format_watts(prediction_.nameplate_energy_j / kSecondsPerHour / prediction_.gpu_hours),
                    format_joules(prediction_.nameplate_energy_j)));
  }

  void add_co2() {
    const CarbonIntensity& carbon = course_.costs.carbon;
    const Facility& facility = job_.cluster.facility();
    if (carbon.known()) {
      add("co2_kg", fmt::format("{} x about {:.0f} g/kWh = {}", format_watt_hours(estimate_.facility_energy_j),
                                carbon.mean(), format_kilograms(estimate_.co2_kg)));
      out_["co2_kg"]["sources"].push_back("intensity: " + carbon.source());
      add("nameplate_co2_kg",
          fmt::format("{} x {:.0f} g/kWh", format_watt_hours(prediction_.nameplate_energy_j), carbon.mean()));
    }
    if (facility.lifetime_years > 0) {
      add("embodied_co2_kg",
          fmt::format("{:g} kg a GPU over {:g} years", facility.embodied_kg_per_gpu, facility.lifetime_years));
    }
  }

  void add_checkpoints() {
    for (const char* key : {"checkpoint_interval_s", "best_checkpoint_interval_s", "best_memory_interval_s", "spares",
                            "best_spares", "learners"}) {
      add(key);
    }
  }

  const Job& job_;
  const TrainingPrediction& prediction_;
  const TrainingEstimate& estimate_;
  const TrainingCourse& course_;
  Json out_ = Json::object();
};

}  // namespace

nlohmann::ordered_json training_explanation(const TrainReport& report) {
  return {{"figures", TrainingReasons(report).json()},
          {"sections", explanation_of(report.scenario, simulate(report.scenario.job))["sections"]}};
}

}  // namespace mirfak
