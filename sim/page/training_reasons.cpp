#include "page/training_reasons.hpp"

#include "base/units.hpp"
#include "page/figure_reasons.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// "20,2 k"; counts of runs are means, with fractions.
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
  void add(const std::string& key, const std::string& meaning, const std::string& formula = "",
           std::vector<std::string> see = {}) {
    Json& entry = out_[key] = {{"meaning", meaning}};
    if (!formula.empty()) entry["formula"] = formula;
    entry["see"] = std::move(see);
  }

  double part(TimePart of) const { return estimate_.parts[static_cast<std::size_t>(of)]; }
  std::string mean() const { return format_seconds(estimate_.finish_mean_s.value); }

  // "undisturbed 110 days + rework 2.45 days = 121 days"
  std::string sum_text() const {
    std::string text = "undisturbed " + format_seconds(prediction_.undisturbed_s);
    for (std::size_t i = 0; i < kTimeParts; ++i) {
      if (static_cast<TimePart>(i) == TimePart::training || estimate_.parts[i] <= 0) continue;
      text += fmt::format(" + {} {}", time_part_names()[i], format_seconds(estimate_.parts[i]));
    }
    return text + " = " + mean();
  }

  void add_finish() {
    const std::string runs = fmt::format("{} simulated runs, each with failures of its own", estimate_.samples);
    add("finish_time_s", "The median of " + runs + ": half of them are done by then. On the mean run:", sum_text());
    add("finish_time_p95_s", "What one in twenty of " + runs + " takes longer than.");
    add("finish_time_mean_s", "The mean of " + runs + ".", sum_text());
    const char* const error = "How far the figure may be off because the number of runs is finite: one standard error.";
    for (const char* key : {"finish_time_error_s", "finish_time_p95_error_s", "finish_time_mean_error_s"})
      add(key, error);
    add("goodput", "The share of the mean time that is training whose results last.",
        fmt::format("{} / {} = {}", format_seconds(part(TimePart::training)), mean(),
                    format_percent(estimate_.goodput)));
    add("samples", "Runs that were simulated: more of them make the error by chance smaller.");
    add("simulated_days_per_s", "How fast they were simulated.");
    add("wall_time_s", "What the command took on this machine until it wrote this page.");
  }

  void add_undisturbed() {
    std::string formula;
    for (const WorkPhase& phase : course_.calendar.phases()) {
      formula += fmt::format("{}{} iterations x {}", formula.empty() ? "" : " + ",
                             format_count(static_cast<double>(phase.iterations)), format_seconds(phase.iteration_s));
    }
    add("undisturbed_time_s", "All iterations one after the other, with nothing between them.",
        formula + " = " + format_seconds(prediction_.undisturbed_s), {"The iteration"});
    add("iterations", "As operations.iterations, operations.gpu_hours or training.tokens say.");
  }

  // What each restart costs on the mean.
  void add_lost(const char* name, TimePart of, const std::string& meaning) {
    const double seconds = part(of);
    const bool happens = seconds > 0 && estimate_.restarts > 0;
    add(std::string("lost.") + name, meaning, happens ? times_text(estimate_.restarts, seconds, "restarts") : "");
  }

  void add_after_failures() {
    const CheckpointTier& storage = course_.calendar.tiers().back();
    std::string since = storage.interval_s > 0 ? fmt::format("States are saved on storage every {} of training",
                                                             format_seconds(storage.interval_s))
                                               : std::string("Every iteration's state lasts, at no cost");
    if (course_.calendar.tiers().size() > 1) {
      since += fmt::format(", and in the memory of other nodes every {}",
                           format_seconds(course_.calendar.tiers().front().interval_s));
    }
    if (storage.write_s > 0)
      since += fmt::format("; one counts {} after it was begun", format_seconds(storage.write_s));
    add_lost("rework_s", TimePart::rework,
             "Iterations and saves that failures take: those since the last state that outlives the failure. " + since +
                 ".");
    add_lost("detection_s", TimePart::detection,
             fmt::format("From a failure until it is noticed: {} each (operations.detection_s), again where another "
                         "failure strikes on the way.",
                         format_seconds(course_.detection_s)));
    add_lost("waiting_s", TimePart::waiting,
             fmt::format("For nodes to come back from repair where {} spares are not enough.", course_.spares));
    add_lost("restart_s", TimePart::restart,
             fmt::format("Of the job: {} each (operations.restart_s), again where another failure strikes on the way.",
                         format_seconds(course_.restart_s)));
    add_lost("reading_s", TimePart::reading, "Of the state that a restart begins with.");
    add("lost.slowed_s", course_.nodes_per_replica > 0
                             ? "What iterations take longer while fewer replicas have all of the batch."
                             : "The job does not go on with fewer replicas (operations.shrinks).");
    double often = 0;
    for (const FailureCause& cause : course_.failures.causes) often += cause.rate_per_s;
    add("restarts", "Interruptions of the mean run, by cause in the table; they strike restarts too.",
        often > 0 && course_.failures.log.empty()
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
    add("lost.saving_s", "Training waits while a state is saved: " + (saves.empty() ? "for none" : saves) + ".",
        course_.calendar.tiers().size() == 1 && part(TimePart::saving) > 0
            ? times_text(part(TimePart::saving) / course_.calendar.tiers().back().stall_s, part(TimePart::saving),
                         "saves")
            : "");
    const EvaluationPause& evaluation = course_.calendar.evaluation();
    add("lost.evaluation_s", "Training waits for evaluations.",
        evaluation.every > 0
            ? fmt::format("every {} iterations, {} each", evaluation.every, format_seconds(evaluation.duration_s))
            : "none are stated");
    const Maintenance& maintenance = course_.maintenance;
    add("lost.maintenance_s", "The machine is not to be had.",
        maintenance.every_s > 0 ? fmt::format("every {}, {} each", format_seconds(maintenance.every_s),
                                              format_seconds(maintenance.duration_s))
                                : "none is stated");
  }

  void add_consumption() {
    const RunningCosts& costs = course_.costs;
    add("cost_usd",
        costs.usd_per_node_s > 0 ? "The price of all nodes, spares too, until the training is done."
                                 : job_.cluster.missing_prices(),
        costs.usd_per_node_s > 0
            ? fmt::format("({} nodes + {} spares) x {} an hour x {} = {}", course_.nodes, course_.spares,
                          format_price(costs.usd_per_node_s * kSecondsPerHour), mean(), format_usd(estimate_.cost_usd))
            : "");
    const double gpus_j = estimate_.energy_j - costs.around_w * estimate_.finish_mean_s.value;
    add("energy_j", "Of the GPUs, training, waiting or idle.",
        fmt::format("{} - {} x {} = {}", format_joules(estimate_.energy_j), format_watts(costs.around_w), mean(),
                    format_joules(gpus_j)),
        {"Memory, power and price"});
    add("machine_energy_j", "Of GPUs, hosts and network: by iterations while it trains, idle else.",
        fmt::format("idle {}, hosts and network {} of it", format_watts(costs.idle_w), format_watts(costs.around_w)));
    add("facility_energy_j", "Of the machine, times the facility's PUE, with cooling beside it.",
        fmt::format("{} x {:g} + {} x {} = {}", format_joules(estimate_.energy_j), costs.pue,
                    format_watts(costs.cooling_w), mean(), format_joules(estimate_.facility_energy_j)));
    add("gpu_hours", "GPUs of the job, spares left out, times the mean time.",
        fmt::format("{} GPUs x {} = {}", job_.cluster.physical_gpus(), mean(), format_count(prediction_.gpu_hours)));
    add("nameplate_energy_j", "As model cards count it: GPU hours times the power that a GPU is specified for.",
        fmt::format("{} GPU hours x {} = {}", format_count(prediction_.gpu_hours),
                    format_watts(prediction_.nameplate_energy_j / kSecondsPerHour / prediction_.gpu_hours),
                    format_joules(prediction_.nameplate_energy_j)));
  }

  void add_co2() {
    const CarbonIntensity& carbon = course_.costs.carbon;
    const Facility& facility = job_.cluster.facility();
    if (carbon.known()) {
      add("co2_kg", "What making the facility's energy emits, hour by hour.",
          fmt::format("{} x about {:.0f} g/kWh = {}", format_watt_hours(estimate_.facility_energy_j), carbon.mean(),
                      format_kilograms(estimate_.co2_kg)));
      out_["co2_kg"]["sources"].push_back("intensity: " + carbon.source());
      add("nameplate_co2_kg", "The same of the energy as model cards count it, by the mean of the grid's hours.",
          fmt::format("{} x {:.0f} g/kWh", format_watt_hours(prediction_.nameplate_energy_j), carbon.mean()));
    }
    if (facility.lifetime_years > 0) {
      add("embodied_co2_kg", "The training's share of what making the GPUs emitted.",
          fmt::format("{:g} kg a GPU over {:g} years", facility.embodied_kg_per_gpu, facility.lifetime_years));
    }
  }

  void add_checkpoints() {
    add("checkpoint_interval_s", "Of training between saves on storage, in whole iterations.");
    const char* const best =
        "At which the goodput is largest, by the renewal formula: longer loses more to failures, shorter more to "
        "saves.";
    add("best_checkpoint_interval_s", best);
    add("best_memory_interval_s", best);
    add("spares", "Nodes that stand by (operations.spares).");
    add("best_spares", course_.costs.usd_per_node_s > 0
                           ? "With which the training is cheapest: tried in runs of their own."
                           : "The fewest with which it takes no longer: tried in runs of their own.");
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
