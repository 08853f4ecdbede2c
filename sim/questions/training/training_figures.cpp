#include "training/training_figures.hpp"

#include "cluster/carbon.hpp"

#include <optional>
#include <utility>

namespace mirfak {

namespace {

bool is_lost(std::size_t part) { return static_cast<TimePart>(part) != TimePart::training; }

using Figures = FigureList<TrainingFigure>;

auto estimate(double TrainingEstimate::*of) {
  return [of](const TrainingInputs& in) { return in.prediction.estimate.*of; };
}
auto value_of(Estimated TrainingEstimate::*of) {
  return [of](const TrainingInputs& in) { return (in.prediction.estimate.*of).value; };
}
auto error_of(Estimated TrainingEstimate::*of) {
  return [of](const TrainingInputs& in) { return (in.prediction.estimate.*of).error; };
}
template <typename T>
auto optional(std::optional<T> TrainingPrediction::*of) {
  return [of](const TrainingInputs& in) { return static_cast<double>((in.prediction.*of).value_or(T{})); };
}
template <typename T>
auto has(std::optional<T> TrainingPrediction::*of) {
  return [of](const TrainingInputs& in) { return (in.prediction.*of).has_value(); };
}
bool has_carbon(const TrainingInputs& in) { return in.prediction.course.costs.carbon.known(); }

void add_finish(Figures& out) {
  const char* const chance = "How far that figure may be off because the number of runs is finite: one standard error.";
  out.add("finish_time_s", "time to finish", "Time to finish that half of the simulated runs take, the median.",
          value_of(&TrainingEstimate::finish_p50_s));
  out.add("finish_time_error_s", "error of the median", chance, error_of(&TrainingEstimate::finish_p50_s));
  out.add("finish_time_p95_s", "time to finish of 95 %",
          "Time to finish that one in twenty of the simulated runs exceeds.",
          value_of(&TrainingEstimate::finish_p95_s));
  out.add("finish_time_p95_error_s", "error of that of 95 %", chance, error_of(&TrainingEstimate::finish_p95_s));
  out.add("finish_time_mean_s", "mean time to finish", "Time to finish, mean over the simulated runs.",
          value_of(&TrainingEstimate::finish_mean_s));
  out.add("finish_time_mean_error_s", "error of the mean", chance, error_of(&TrainingEstimate::finish_mean_s));
  out.add("undisturbed_time_s", "undisturbed time", "All iterations one after the other, with nothing between them.",
          [](const TrainingInputs& in) { return in.prediction.undisturbed_s; });
  out.add("iterations", "iterations", "As operations.iterations, operations.gpu_hours or training.tokens say.",
          [](const TrainingInputs& in) { return static_cast<double>(in.prediction.course.calendar.iterations()); })
      .with(counted);
  out.add("goodput", "goodput", "Share of the mean time that is training whose results last.",
          estimate(&TrainingEstimate::goodput));
}

const char* meaning_of(TimePart part) {
  switch (part) {
    case TimePart::rework:
      return "Iterations and saves that failures take: those since the last state that outlives the failure.";
    case TimePart::slowed:
      return "What iterations take longer while fewer replicas have all of the batch.";
    case TimePart::saving:
      return "Training waits while a state is saved.";
    case TimePart::evaluation:
      return "Training waits for evaluations.";
    case TimePart::detection:
      return "From a failure until it is noticed, again where another failure strikes on the way.";
    case TimePart::waiting:
      return "Training waits for nodes to come back from repair where the spares are not enough.";
    case TimePart::restart:
      return "Restarts of the job, again where another failure strikes on the way.";
    case TimePart::reading:
      return "Reading the state that a restart begins with.";
    case TimePart::maintenance:
      return "The machine is not to be had.";
    case TimePart::training:
      break;
  }
  return "Iterations whose results last.";
}

void add_lost(Figures& out) {
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (!is_lost(part)) continue;
    out.add("lost." + time_part_names()[part] + "_s", time_part_names()[part],
            std::string(meaning_of(static_cast<TimePart>(part))) + " Mean over the simulated runs.",
            [part](const TrainingInputs& in) { return in.prediction.estimate.parts[part]; });
  }
}

// Energies of a training have the ranges of an iteration's, in proportion.
auto end_of_energy(double IterationResult::*end) {
  return [end](const TrainingInputs& in) {
    const IterationResult& iteration = in.prediction.iteration;
    const TrainingEstimate& of = in.prediction.estimate;
    return iteration.energy_j > 0 ? (of.energy_j - of.around_j) * (iteration.*end / iteration.energy_j) : 0;
  };
}
auto end_of_machine(double TrainingEstimate::*of, double IterationResult::*end) {
  return [=](const TrainingInputs& in) {
    const IterationResult& iteration = in.prediction.iteration;
    return iteration.machine_energy_j > 0 ? in.prediction.estimate.*of * (iteration.*end / iteration.machine_energy_j)
                                          : 0;
  };
}

// Adds both ends of the range of an energy.
template <typename Number>
void add_range(Figures& out, const std::string& key, const std::string& label, double IterationResult::*known,
               const Number& low, const Number& high) {
  const char* const no_range = "hw_profiles/ranges.yaml says nothing of powers, or the iteration has no range";
  const auto is_known = [known](const TrainingInputs& in) { return in.prediction.iteration.*known > 0; };
  out.add(key + "_low_j", label + ", from",
          key + "_j in proportion to an iteration's range, as if lost time erred as iterations do; chance not counted.",
          low)
      .unknown(no_range, is_known);
  out.add(key + "_high_j", label + ", to", "The end of the range that " + key + "_low_j begins.", high)
      .unknown(no_range, is_known);
}

void add_consumption(Figures& out) {
  out.add("cost_usd", "cost", "Price of all nodes, spares too, until the training is done, in USD.",
          estimate(&TrainingEstimate::cost_usd))
      .unknown("no price is known for some GPU",
               [](const TrainingInputs& in) { return in.prediction.course.costs.usd_per_node_s > 0; });
  out.add("energy_j", "energy", "Energy of the GPUs, training, waiting or idle.", [](const TrainingInputs& in) {
    const TrainingEstimate& of = in.prediction.estimate;
    return of.energy_j - of.around_j;
  });
  add_range(out, "energy", "energy", &IterationResult::energy_high_j, end_of_energy(&IterationResult::energy_low_j),
            end_of_energy(&IterationResult::energy_high_j));
  out.add("machine_energy_j", "energy of the machine", "Energy of GPUs, hosts (of spares too) and network.",
          estimate(&TrainingEstimate::energy_j));
  add_range(out, "machine_energy", "energy of the machine", &IterationResult::machine_energy_high_j,
            end_of_machine(&TrainingEstimate::energy_j, &IterationResult::machine_energy_low_j),
            end_of_machine(&TrainingEstimate::energy_j, &IterationResult::machine_energy_high_j));
  out.add("facility_energy_j", "energy of the facility",
          "Energy of the machine, times the facility's PUE, and of its cooling.",
          estimate(&TrainingEstimate::facility_energy_j));
  add_range(out, "facility_energy", "energy of the facility", &IterationResult::machine_energy_high_j,
            end_of_machine(&TrainingEstimate::facility_energy_j, &IterationResult::machine_energy_low_j),
            end_of_machine(&TrainingEstimate::facility_energy_j, &IterationResult::machine_energy_high_j));
  out.add("co2_kg", "CO2", "CO2 of the facility's energy, hour by hour.", estimate(&TrainingEstimate::co2_kg))
      .unknown("no intensity of the grid is known", has_carbon);
  out.add("embodied_co2_kg", "embodied CO2", "The training's share of the CO2 of making the GPUs.",
          [](const TrainingInputs& in) { return in.prediction.embodied_co2_kg; })
      .unknown("the cluster does not say how long GPUs are used",
               [](const TrainingInputs& in) { return in.facility.lifetime_years > 0; });
  out.add("gpu_hours", "GPU hours", "GPUs of the job, spares left out, times the mean time.",
          [](const TrainingInputs& in) { return in.prediction.gpu_hours; });
  out.add("nameplate_energy_j", "nameplate energy",
          "GPU hours times the power that a GPU is specified for, as model cards count energy.",
          [](const TrainingInputs& in) { return in.prediction.nameplate_energy_j; });
  out.add("nameplate_co2_kg", "nameplate CO2", "CO2 of the nameplate energy, by the mean of the grid's hours.",
          [](const TrainingInputs& in) {
            const double grams_per_kwh = has_carbon(in) ? in.prediction.course.costs.carbon.mean() : 0;
            return in.prediction.nameplate_energy_j / kJoulesPerKilowattHour * grams_per_kwh / 1000;
          })
      .unknown("no intensity of the grid is known", has_carbon);
}

void add_operations(Figures& out) {
  const char* const best =
      "Time between saves at which the goodput is largest, by the renewal formula: longer loses more to failures, "
      "shorter more to saves.";
  const char* const no_best = "there are no checkpoints, or no failures";
  out.add("checkpoint_interval_s", "time between checkpoints",
          "Time of training between saves on storage, in whole iterations.",
          [](const TrainingInputs& in) { return in.prediction.course.calendar.tiers().back().interval_s; });
  out.add("best_checkpoint_interval_s", "best time between checkpoints", best,
          optional(&TrainingPrediction::best_interval_s))
      .unknown(no_best, has(&TrainingPrediction::best_interval_s));
  out.add("best_memory_interval_s", "best time between saves in memory", best,
          optional(&TrainingPrediction::best_memory_interval_s))
      .unknown(no_best, has(&TrainingPrediction::best_memory_interval_s));
  out.add("learners", "learners", "Copies of the job that train apart (training.local_steps); 1: the job alone.",
          [](const TrainingInputs& in) { return static_cast<double>(in.prediction.course.learners); })
      .with(counted);
  out.add("spares", "spares", "Nodes that stand by (operations.spares).",
          [](const TrainingInputs& in) { return static_cast<double>(in.prediction.course.spares); })
      .with(counted);
  out.add("best_spares", "best spares",
          "Spares with which the training is cheapest, or where no price is known the fewest with which it takes no "
          "longer: tried in runs of their own.",
          optional(&TrainingPrediction::best_spares))
      .unknown("nodes are not repaired", has(&TrainingPrediction::best_spares))
      .with(counted);
  out.add("restarts", "restarts", "Interruptions, mean over the simulated runs; they strike restarts too.",
          estimate(&TrainingEstimate::restarts));
}

std::vector<TrainingFigure> all_figures() {
  Figures out;
  add_finish(out);
  add_lost(out);
  add_consumption(out);
  add_operations(out);
  return out.take();
}

}  // namespace

std::span<const TrainingFigure> training_figures() {
  static const std::vector<TrainingFigure> all = all_figures();
  return all;
}

const TrainingFigure& training_figure(std::string_view key) { return figure_of(training_figures(), key); }

std::vector<FigureValue> training_values(const TrainingPrediction& prediction, const Facility& facility) {
  std::vector<FigureValue> out;
  for (const TrainingFigure& figure : training_figures()) out.push_back(figure.value({prediction, facility}));
  return out;
}

std::vector<FigureValue> training_values_at(TrainingPrediction prediction, const Facility& facility, double errors) {
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
  for (double* const amount :
       {&estimate.cost_usd, &estimate.energy_j, &estimate.around_j, &estimate.facility_energy_j, &estimate.co2_kg,
        &prediction.gpu_hours, &prediction.nameplate_energy_j, &prediction.embodied_co2_kg}) {
    *amount *= factor;
  }
  return training_values(prediction, facility);
}

}  // namespace mirfak
