#include "simulation/figures.hpp"

#include "cost/activity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace mirfak {

namespace {

using OverTime = IterationFigure::OverTime;

constexpr const char* kNoPrice = "no price is known for some GPU";
constexpr const char* kNoCostRange = "no price is known for some GPU, or no range";
constexpr const char* kNoTraining = "the scenario says nothing of training.tokens";
constexpr const char* kNoFacility = "the cluster says nothing of its facility";
constexpr const char* kNoRange = "no range is known";
constexpr const char* kNoEnergyRange = "no range of power, or of time, is known";
constexpr const char* kNoMachineRange = "the cluster says nothing of its facility, or no range of hosts is known";
constexpr const char* kNoPowerOverTime = "the iteration was executed in part, or is a mean of several";
constexpr const char* kNoMemoryRange = "nothing is known of the error of predicted needs";

// Shorthands for the inputs of figures.
auto member(double IterationResult::*of) {
  return [of](const FigureInputs& in) { return in.result.*of; };
}
double iterations_of_training(const FigureInputs& in) {
  return in.result.training_time_s > 0 ? in.result.training_time_s / in.result.iteration_time_s : 0;
}
bool has_training(const FigureInputs& in) { return in.result.training_time_s > 0; }
bool has_price(const FigureInputs& in) { return in.result.priced; }
bool has_facility(const FigureInputs& in) { return in.facility.asked; }
bool has_memory(const FigureInputs& in) { return in.result.memory_capacity_bytes > 0; }
bool has_range(const FigureInputs& in) { return in.result.iteration_time_high_s > 0; }
bool has_energy_range(const FigureInputs& in) { return in.result.energy_high_j > 0; }
bool has_machine_range(const FigureInputs& in) { return in.facility.asked && in.result.machine_energy_high_j > 0; }
// Returns a figure of the facility, which has the machine's range in proportion.
auto with_machine(double IterationResult::*of, double IterationResult::*end_of_machine) {
  return [=](const FigureInputs& in) {
    const IterationResult& result = in.result;
    return result.machine_energy_j > 0 ? result.*of * (result.*end_of_machine / result.machine_energy_j) : 0;
  };
}
// Returns the cost at one end of the range of the time.
auto cost_at(double IterationResult::*time) {
  return [=](const FigureInputs& in) {
    const IterationResult& result = in.result;
    return result.iteration_time_s > 0 ? result.cost_usd * (result.*time / result.iteration_time_s) : 0;
  };
}
bool has_fit_probability(const FigureInputs& in) { return in.result.fit_probability >= 0; }
bool has_power_floor(const FigureInputs& in) { return in.facility.power_floor.has_value(); }
bool has_power(const FigureInputs& in) { return in.result.power.has_value(); }
auto power(double PowerFigures::*of) {
  return [of](const FigureInputs& in) { return in.result.power ? (*in.result.power).*of : 0; };
}
bool has_learners(const FigureInputs& in) { return in.result.outer.learners > 0; }
auto outer(double OuterStep::*of) {
  return [of](const FigureInputs& in) { return in.result.outer.*of; };
}
bool has_memory_range(const FigureInputs& in) { return in.result.memory_peak_high_bytes > 0; }

// Properties that only few figures have.
void amount(IterationFigure& figure) { figure.over_time = OverTime::amount; }
void rate(IterationFigure& figure) { figure.over_time = OverTime::rate; }
void measured(IterationFigure& figure) { figure.measured = true; }
void not_stored(IterationFigure& figure) { figure.stored = false; }
void of_facility(IterationFigure& figure) {
  figure.unknown = kNoFacility;
  figure.is_known = has_facility;
  figure.facility = true;
  not_stored(figure);
}

using Figures = FigureList<IterationFigure>;

// Ends of the range of a figure.
struct RangeFigure {
  std::string low;    // key of the lower end
  std::string high;   // key of the upper end
  std::string label;  // of the figure
  std::string meaning;
  const char* unknown;
};
// Adds both ends. `low`, `high`: as FigureList::add() has them; `change`: of both.
template <typename Number, typename Known, typename... Change>
void add_range(Figures& out, const RangeFigure& of, const Number& low, const Number& high, const Known& is_known,
               const Change&... change) {
  out.add(of.low, of.label + ", from", of.meaning, low).with(change...).unknown(of.unknown, is_known);
  out.add(of.high, of.label + ", to", "The end of the range that " + of.low + " begins.", high)
      .with(change...)
      .unknown(of.unknown, is_known);
}

void add_times(Figures& out) {
  out.add("iteration_time_s", "iteration time", "One optimizer step, from its start to the end of its last task.",
          member(&IterationResult::iteration_time_s))
      .with(amount, measured);
  add_range(out,
            {"iteration_time_low_s", "iteration_time_high_s", "iteration time",
             "From here to iteration_time_high_s lie 80 % of measured iterations that were predicted like this one "
             "(hw_profiles/ranges.yaml).",
             kNoRange},
            member(&IterationResult::iteration_time_low_s), member(&IterationResult::iteration_time_high_s), has_range);
}

void add_rates(Figures& out) {
  out.add("tokens_per_s", "tokens per second", "Tokens of the global batch over the time of an iteration.",
          member(&IterationResult::tokens_per_s))
      .with(rate, measured);
  out.add("tokens_per_s_per_gpu", "tokens per second and GPU", "Tokens per second over the number of GPUs.",
          member(&IterationResult::tokens_per_s_per_gpu))
      .with(rate, measured);
  out.add("tflops_per_gpu", "model TFLOP/s per GPU",
          "Model FLOPs over time and GPUs, in 1e12 FLOP/s, as papers count them: attention over all pairs of tokens, "
          "whatever its mask hides.",
          member(&IterationResult::tflops_per_gpu))
      .with(rate, measured);
  out.add("hardware_tflops_per_gpu", "hardware TFLOP/s per GPU",
          "Hardware FLOPs over time and GPUs, in 1e12 FLOP/s: model FLOPs and what is recomputed.",
          member(&IterationResult::hardware_tflops_per_gpu))
      .with(rate, measured);
  out.add("mfu", "MFU", "Visible FLOPs over what all GPUs could do at their peak; at most 1.",
          member(&IterationResult::mfu))
      .with(rate, measured);
  out.add("hfu", "HFU", "Executed FLOPs over what all GPUs could do at their peak; at most 1.",
          member(&IterationResult::hfu))
      .with(rate, measured);
}

void add_work(Figures& out) {
  out.add("gpus", "GPUs", "Number of GPUs of the cluster.",
          [](const FigureInputs& in) { return static_cast<double>(in.result.gpus); })
      .with(counted, measured);
  out.add("model_flop", "model FLOP",
          "FLOPs of an iteration of the whole job: three times the forward pass, attention over all pairs of tokens.",
          member(&IterationResult::model_flop))
      .with(measured);
  out.add("hardware_flop", "hardware FLOP", "Model FLOPs and those of what is recomputed.",
          member(&IterationResult::hardware_flop))
      .with(measured);
  out.add("visible_flop", "visible FLOP",
          "Model FLOPs as executed: fused attention leaves out blocks that its mask hides, about half of causal "
          "attention.",
          member(&IterationResult::visible_flop));
  out.add("executed_flop", "executed FLOP", "Visible FLOPs and those of what is recomputed.",
          member(&IterationResult::executed_flop));
}

void add_waiting(Figures& out) {
  out.add("bubble_fraction", "bubble", "Share of the iteration that a rank waits for other stages, mean over ranks.",
          member(&IterationResult::bubble_fraction))
      .with(measured);
  out.add("gpu_of_others_s", "bubble of shared GPUs",
          "Part of the bubble in which kernels of other ranks run on the GPU that they share with a rank "
          "(ranks_per_gpu), mean over ranks.",
          member(&IterationResult::gpu_of_others_s))
      .with(amount);
  out.add("exposed_communication_s", "exposed communication",
          "Time in which the compute stream of a rank waits for communication, mean over ranks.",
          member(&IterationResult::exposed_communication_s))
      .with(amount, measured);
}

void add_outer_step(Figures& out) {
  const char* const alone = "the scenario has no training.local_steps";
  out.add(
         "outer_exposed_s", "wait for other learners",
         "Part of iteration_time_s in which a learner waits until fragments are exchanged with the others, spread over "
         "the steps between two exchanges.",
         outer(&OuterStep::exposed_s))
      .unknown(alone, has_learners)
      .with(amount, not_stored);
  out.add("outer_exchange_s", "exchange between learners",
          "Time of the exchanges of all fragments, one after the other, once in training.local_steps.every iterations.",
          outer(&OuterStep::exchange_s))
      .unknown(alone, has_learners)
      .with(amount, not_stored);
  out.add("outer_sent_bytes", "sent to other learners", "Bytes that a learner sends in these exchanges.",
          outer(&OuterStep::sent_bytes))
      .unknown(alone, has_learners)
      .with(not_stored);
}

void add_memory(Figures& out) {
  out.add("memory_peak_bytes", "peak memory", "Peak of a GPU of the stage with the largest share of its memory in use.",
          member(&IterationResult::memory_peak_bytes));
  add_range(
      out,
      {"memory_peak_low_bytes", "memory_peak_high_bytes", "peak memory",
       "From here to memory_peak_high_bytes lie 80 % of measured peaks of what the framework allocates.", kNoRange},
      member(&IterationResult::memory_peak_low_bytes), member(&IterationResult::memory_peak_high_bytes),
      has_memory_range);
  out.add("memory_capacity_bytes", "memory of a GPU", "Memory of a GPU of the stage that memory_peak_bytes is of.",
          member(&IterationResult::memory_capacity_bytes));
}

void add_costs(Figures& out) {
  out.add("energy_j", "energy", "Energy of all GPUs in an iteration.", member(&IterationResult::energy_j)).with(amount);
  add_range(out,
            {"energy_low_j", "energy_high_j", "energy",
             "From here to energy_high_j lies the energy of 80 % of measured iterations, by how far measured times and "
             "powers lay from predicted ones (hw_profiles/ranges.yaml).",
             kNoEnergyRange},
            member(&IterationResult::energy_low_j), member(&IterationResult::energy_high_j), has_energy_range, amount,
            not_stored);
  out.add("power_floor_energy_j", "energy of the power floor",
          "Part of the energy that GPUs burn to keep cluster.power_floor.",
          member(&IterationResult::power_floor_energy_j))
      .unknown("the cluster has no power_floor", has_power_floor)
      .with(amount, not_stored);
  out.add("average_power_w", "power", "Power of all GPUs together, on average over an iteration.",
          member(&IterationResult::average_power_w));
  out.add("power_peak_w", "peak power", "Highest power of all GPUs together, of its means over 10 ms.",
          power(&PowerFigures::peak_w))
      .unknown(kNoPowerOverTime, has_power);
  out.add("power_swing_w", "swing of the power",
          "Highest minus lowest power of all GPUs together, of its means over 10 ms.", power(&PowerFigures::swing_w))
      .unknown(kNoPowerOverTime, has_power);
  out.add("power_max_ramp_w_per_s", "steepest ramp of the power",
          "Largest change of the power of all GPUs together, up or down, between means over 10 ms, over these 10 ms.",
          power(&PowerFigures::max_ramp_w_per_s))
      .unknown(kNoPowerOverTime, has_power);
  out.add("cost_usd_per_iteration", "cost", "Price of all GPUs for the time of an iteration, in USD.",
          member(&IterationResult::cost_usd))
      .unknown(kNoPrice, has_price)
      .with(amount);
  const auto has_cost_range = [](const FigureInputs& in) { return has_price(in) && has_range(in); };
  out.add("cost_low_usd_per_iteration", "cost, from", "Price of all GPUs for iteration_time_low_s, in USD.",
          cost_at(&IterationResult::iteration_time_low_s))
      .unknown(kNoCostRange, has_cost_range)
      .with(amount, not_stored);
  out.add("cost_high_usd_per_iteration", "cost, to", "Price of all GPUs for iteration_time_high_s, in USD.",
          cost_at(&IterationResult::iteration_time_high_s))
      .unknown(kNoCostRange, has_cost_range)
      .with(amount, not_stored);
}

void add_training(Figures& out) {
  out.add("training_time_s", "time of the training",
          "Time of as many iterations as training.tokens need, without failures.",
          member(&IterationResult::training_time_s))
      .unknown(kNoTraining, has_training)
      .with(amount);
  out.add("training_iterations", "iterations of the training", "Tokens of the training over those of an iteration.",
          iterations_of_training)
      .unknown(kNoTraining, has_training);
  out.add("training_energy_j", "energy of the training", "Energy of all GPUs, of all learners, in these iterations.",
          [](const FigureInputs& in) {
            return in.result.energy_j * iterations_of_training(in) * std::max(1, in.result.outer.learners);
          })
      .unknown(kNoTraining, has_training)
      .with(amount);
  out.add("training_cost_usd", "cost of the training",
          "Price of all GPUs, of all learners, for these iterations, in USD.",
          member(&IterationResult::training_cost_usd))
      .unknown("the scenario says nothing of training.tokens, or no price is known for some GPU",
               [](const FigureInputs& in) { return has_training(in) && has_price(in); })
      .with(amount);
  out.add("events", "events", "Ends of tasks and changes of their speed that the engine handled.",
          [](const FigureInputs& in) { return static_cast<double>(in.result.events); })
      .with(counted);
}

void add_facility(Figures& out) {
  out.add("machine_energy_j", "energy of the machine", "Energy of GPUs, hosts and network.",
          member(&IterationResult::machine_energy_j))
      .with(of_facility, amount);
  add_range(out,
            {"machine_energy_low_j", "machine_energy_high_j", "energy of the machine",
             "From here to machine_energy_high_j lies the energy of GPUs, hosts and network of 80 % of measured "
             "iterations, by the ranges of time, of the GPUs' power and of the hosts'.",
             kNoMachineRange},
            member(&IterationResult::machine_energy_low_j), member(&IterationResult::machine_energy_high_j),
            has_machine_range, of_facility, amount);
  out.add("facility_energy_j", "energy of the facility",
          "Energy of the machine, times the facility's PUE, and of its cooling.",
          member(&IterationResult::facility_energy_j))
      .with(of_facility, amount);
  add_range(out,
            {"facility_energy_low_j", "facility_energy_high_j", "energy of the facility",
             "facility_energy_j in proportion to machine_energy_low_j: PUE and cooling are taken as stated.",
             kNoMachineRange},
            with_machine(&IterationResult::facility_energy_j, &IterationResult::machine_energy_low_j),
            with_machine(&IterationResult::facility_energy_j, &IterationResult::machine_energy_high_j),
            has_machine_range, of_facility, amount);
  out.add("co2_kg", "CO2", "CO2 of the facility's energy, by the mean of the grid's hours.",
          member(&IterationResult::co2_kg))
      .with(of_facility)
      .unknown("no intensity of the grid is known",
               [](const FigureInputs& in) { return in.facility.asked && in.facility.carbon.known(); })
      .with(amount);
  out.add("embodied_co2_kg", "embodied CO2", "The iteration's share of the CO2 of making the GPUs.",
          member(&IterationResult::embodied_co2_kg))
      .with(of_facility, amount);
}

void add_fit(Figures& out) {
  out.add("fits", "fits", "Whether every stage has the memory that it needs, on its GPUs and on their hosts.",
          [](const FigureInputs& in) { return in.result.fits ? 1.0 : 0.0; })
      .with(not_stored, [](IterationFigure& of) { of.truth = true; });
  out.add(
         "fit_probability", "probability to fit",
         "Probability that every stage has the memory that it needs, by how far measured needs lay from predicted ones "
         "(hw_profiles/ranges.yaml).",
         member(&IterationResult::fit_probability))
      .unknown(kNoMemoryRange, has_fit_probability);
  out.add("memory_headroom", "free memory",
          "Share of the fullest GPU's memory that is free; below 0: the job does not fit.",
          [](const FigureInputs& in) {
            return has_memory(in) ? 1 - in.result.memory_peak_bytes / in.result.memory_capacity_bytes : 0;
          })
      .with(not_stored, [](IterationFigure& of) { of.is_known = has_memory; });
}

std::string meaning_of(Activity activity) {
  if (activity == Activity::bubble) return "Time in which a rank waits for other stages, mean over ranks.";
  if (activity == Activity::host) return "Time in which kernels of a rank wait for the host, mean over ranks.";
  if (activity >= Activity::tensor_communication && activity <= Activity::pipeline_communication) {
    return fmt::format("Time in which the compute stream of a rank waits for {}, mean over ranks.", name_of(activity));
  }
  return fmt::format("Time of {} on a rank, mean over ranks.", name_of(activity));
}

void add_activities(Figures& out) {
  for (std::size_t i = 0; i < kActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    out.add(fmt::format("{}_s", key_of(activity)), std::string(name_of(activity)), meaning_of(activity),
            [i](const FigureInputs& in) { return in.result.activity_s[i]; })
        .with(amount, not_stored, [](IterationFigure& of) { of.elsewhere = true; });
  }
}

std::vector<IterationFigure> all_figures() {
  Figures out;
  add_times(out);
  add_rates(out);
  add_work(out);
  add_waiting(out);
  add_outer_step(out);
  add_memory(out);
  add_costs(out);
  add_training(out);
  add_facility(out);
  add_fit(out);
  add_activities(out);
  return out.take();
}

}  // namespace

FigureValue IterationFigure::value(const FigureInputs& inputs) const {
  FigureValue out = FigureOf::value(inputs);
  out.asked = !elsewhere && (!facility || inputs.facility.asked);
  return out;
}

std::span<const IterationFigure> iteration_figures() {
  static const std::vector<IterationFigure> all = all_figures();
  return all;
}

const IterationFigure& iteration_figure(std::string_view key) { return figure_of(iteration_figures(), key); }

std::vector<FigureValue> figure_values(const IterationResult& result, const Facility& facility) {
  std::vector<FigureValue> out;
  for (const IterationFigure& figure : iteration_figures()) out.push_back(figure.value({result, facility}));
  return out;
}

std::vector<FigureValue> stored_values(const IterationResult& result) {
  const Facility none;
  std::vector<FigureValue> out;
  for (const IterationFigure& figure : iteration_figures()) {
    if (figure.stored) out.push_back(figure.value({result, none}));
  }
  return out;
}

FigureValue figure_value(std::string_view key, const IterationResult& result, const Facility& facility) {
  return iteration_figure(key).value({result, facility});
}

std::vector<FigureValue> figure_values_at(IterationResult result, const Facility& facility, double seconds,
                                          double peak_bytes) {
  const double factor = seconds / result.iteration_time_s;
  result.memory_peak_bytes = peak_bytes;
  result.fits = peak_bytes <= result.memory_capacity_bytes;
  std::vector<FigureValue> out = figure_values(result, facility);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const OverTime over_time = iteration_figures()[i].over_time;
    if (over_time == OverTime::amount) out[i].number *= factor;
    if (over_time == OverTime::rate) out[i].number /= factor;
  }
  return out;
}

}  // namespace mirfak
