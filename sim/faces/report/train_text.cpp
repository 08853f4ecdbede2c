#include "base/section.hpp"
#include "base/units.hpp"
#include "report/job_text.hpp"
#include "report/train_report.hpp"
#include "training/training_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

std::string with_error(const Estimated& seconds) {
  const std::string error = seconds.error > 0 ? fmt::format(", +- {}", format_seconds(seconds.error)) : "";
  return format_seconds(seconds.value) + error;
}

std::string length_table(const TrainingPrediction& prediction) {
  const TrainingEstimate& estimate = prediction.estimate;
  Table table("|");
  table.add(
      {"time to finish", fmt::format("{} (median of {} runs)", with_error(estimate.finish_p50_s), estimate.samples)});
  table.add({"... of one run in twenty", "more than " + with_error(estimate.finish_p95_s)});
  table.add({"... on the mean", with_error(estimate.finish_mean_s)});
  table.add(
      {"... undisturbed", fmt::format("{}, {} iterations", format_seconds(prediction.undisturbed_s),
                                      format_count(static_cast<double>(prediction.course.calendar.iterations())))});
  const TrainingCourse& course = prediction.course;
  if (course.learners > 1) {
    table.add(
        {"learners", fmt::format("{}, of which {} have to train; parts are means over them, and drawings show the "
                                 "first",
                                 course.learners, course.quorum)});
  }
  table.add({"goodput", format_percent(estimate.goodput) + " of the time is training that lasts"});
  table.add({"restarts", format_count(std::round(estimate.restarts))});
  return "Training\n" + table.text();
}

std::string parts_table(const TrainingEstimate& estimate) {
  constexpr double bar_width = 30;
  Table table("|>|>|");
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (estimate.parts[part] <= 0) continue;
    const double share = estimate.parts[part] / estimate.finish_mean_s.value;
    table.add({time_part_names()[part], format_seconds(estimate.parts[part]), fmt::format("{:.2f} %", 100 * share),
               bar_text(share, bar_width)});
  }
  table.add({"all", format_seconds(estimate.finish_mean_s.value), "100.00 %"});
  return "\nWhere the time goes (mean)\n" + table.text();
}

std::string causes_text(const TrainingPrediction& prediction) {
  const Table table = causes_table(prediction);
  return table.empty() ? "\nNothing interrupts it: operations.failures states none\n"
                       : "\nWhat interrupts it (mean)\n" + table.text();
}

std::string saves(const char* name, const TrainingPrediction& prediction, std::size_t tier,
                  const std::optional<double>& best) {
  const CheckpointTier& of = prediction.course.calendar.tiers()[tier];
  const WorkCalendar& calendar = prediction.course.calendar;
  const std::int64_t between = calendar.iterations_between_saves(tier);
  const std::string when = between >= calendar.iterations() ? std::string("at the end alone")
                                                            : fmt::format("every {} of training ({} iterations)",
                                                                          format_seconds(of.interval_s), between);
  std::string out = fmt::format("  {}: {}, {} each{}", name, when, format_seconds(of.stall_s),
                                of.write_s > 0 ? ", counting " + format_seconds(of.write_s) + " later" : "");
  if (best) out += fmt::format("; best every {}", format_seconds(*best));
  return out + "\n";
}

std::string advice(const TrainingPrediction& prediction) {
  const std::vector<CheckpointTier>& tiers = prediction.course.calendar.tiers();
  std::string out = "\nCheckpoints and spares\n";
  const bool states = tiers.size() > 1 || tiers.back().interval_s > 0;
  if (tiers.size() > 1) out += saves("in memory", prediction, 0, prediction.best_memory_interval_s);
  if (states) {
    out += saves("on storage", prediction, tiers.size() - 1, prediction.best_interval_s);
  } else {
    out += "  operations.checkpoint states none: every iteration's state is taken to last, at no cost\n";
  }
  if (prediction.best_spares) {
    out += fmt::format("  spares: {}; best {}, {}\n", prediction.course.spares, *prediction.best_spares,
                       prediction.course.costs.usd_per_node_s > 0 ? "for the cost" : "for the time");
  }
  const std::vector<LoggedFailure>& log = prediction.course.failures.log;
  if (!log.empty() && log.back().time_s < prediction.estimate.finish_p50_s.value) {
    out += fmt::format("  the log ends after {}: nothing fails from then on\n", format_seconds(log.back().time_s));
  }
  return out;
}

std::string around_text(const RunningCosts& costs) {
  const std::string working = "hosts and network " + format_watts(costs.around_working_w);
  if (costs.around_idle_w == costs.around_working_w) return working;
  return fmt::format("{}, {} without work", working, format_watts(costs.around_idle_w));
}

// Returns the range of an energy, from the figures of its ends; "" if it is not known.
std::string energies_text(const TrainingPrediction& prediction, const Facility& facility, const char* low,
                          const char* high) {
  const TrainingInputs in{prediction, facility};
  const TrainingFigure& from = training_figure(low);
  if (from.is_known && !from.is_known(in)) return {};
  return fmt::format("{} to {}", format_watt_hours(from.number(in)),
                     format_watt_hours(training_figure(high).number(in)));
}

std::string with_more(const std::string& range, const std::string& more) {
  return range.empty() ? more : range + "; " + more;
}

std::string costs_table(const Job& job, const TrainingPrediction& prediction) {
  const TrainingEstimate& estimate = prediction.estimate;
  const RunningCosts& costs = prediction.course.costs;
  const Facility& facility = job.cluster.facility();
  Table table("|>|");
  table.add({"cost", costs.usd_per_node_s > 0 ? format_usd(estimate.cost_usd) : "unknown",
             costs.usd_per_node_s > 0 ? fmt::format("{} GPU hours", format_count(prediction.gpu_hours))
                                      : job.cluster.missing_prices()});
  const auto range = [&](const char* low, const char* high) { return energies_text(prediction, facility, low, high); };
  table.add({"energy of GPUs", format_watt_hours(estimate.energy_j - estimate.around_j),
             range("energy_low_j", "energy_high_j")});
  table.add({"... of the machine", format_watt_hours(estimate.energy_j),
             with_more(range("machine_energy_low_j", "machine_energy_high_j"), around_text(costs))});
  table.add(
      {"... of the facility", format_watt_hours(estimate.facility_energy_j),
       with_more(range("facility_energy_low_j", "facility_energy_high_j"), fmt::format("PUE {:g}", facility.pue))});
  table.add({"... by nameplate power", format_watt_hours(prediction.nameplate_energy_j),
             fmt::format("GPU hours x {:.0f} W, as model cards count",
                         prediction.nameplate_energy_j / kSecondsPerHour / prediction.gpu_hours)});
  if (facility.carbon.known()) {
    const double grams = facility.carbon.mean();
    table.add({"CO2", format_kilograms(estimate.co2_kg),
               fmt::format("{:.0f} g/kWh{}; {}", grams, facility.carbon.constant() ? "" : " on the mean of its hours",
                           facility.carbon.source())});
    table.add({"... by nameplate power",
               format_kilograms(prediction.nameplate_energy_j / kJoulesPerKilowattHour * grams / 1000), ""});
  }
  if (facility.lifetime_years > 0) {
    table.add({"... embodied", format_kilograms(prediction.embodied_co2_kg),
               fmt::format("{:g} kg a GPU over {:g} years", facility.embodied_kg_per_gpu, facility.lifetime_years)});
  }
  return "\nWhat it takes (mean)\n" + table.text();
}

// Adds the seconds of a stretch to the columns in which it lies.
void add_to(std::vector<double>& columns, const RunSpan& span, double column_s) {
  const auto last = columns.size() - 1;
  for (auto i = std::min(last, static_cast<std::size_t>(span.start_s / column_s)); i <= last; ++i) {
    const double begin = static_cast<double>(i) * column_s;
    if (begin >= span.end_s) break;
    columns[i] += std::max(0.0, std::min(span.end_s, begin + column_s) - std::max(span.start_s, begin));
  }
}

char digit(double tenths) { return static_cast<char>('0' + std::clamp(static_cast<int>(tenths), 0, 9)); }

// Returns a row of the drawing: the tenths of each column's time that some parts take.
std::string row(const char* name, const std::vector<double>& columns, double column_s) {
  std::string out = fmt::format("  {:<14}", name);
  for (const double seconds : columns) out += seconds > 0 ? digit(10 * seconds / column_s) : '.';
  return out + "\n";
}

std::string drawing(const TrainingPrediction& prediction, int width) {
  const std::vector<RunSpan>& spans = prediction.median_run;
  if (spans.empty()) return {};
  const double column_s = spans.back().end_s / width;
  const auto columns = static_cast<std::size_t>(width);
  std::vector<double> training(columns);
  std::vector<double> rework(columns);
  std::vector<double> away(columns);
  std::vector<int> failures(columns);
  for (const RunSpan& span : spans) {
    const bool works = span.part == TimePart::training || span.part == TimePart::saving;
    add_to(works ? training : span.part == TimePart::rework ? rework : away, span, column_s);
    const auto at = std::min(columns - 1, static_cast<std::size_t>(span.end_s / column_s));
    if (span.part == TimePart::rework) ++failures[at];
  }
  std::string out =
      fmt::format("\nThe median run, {} a column; tenths of its time, 9 is all\n", format_seconds(column_s));
  out += row("training", training, column_s) + row("lost", rework, column_s) + row("not training", away, column_s);
  out += "  failures      ";
  for (const int count : failures) out += count == 0 ? '.' : count < 10 ? static_cast<char>('0' + count) : '*';
  return out + "\n";
}

}  // namespace

std::string train_text(const TrainReport& report, int width) {
  const Scenario& scenario = report.scenario;
  const TrainingPrediction& prediction = report.prediction;
  Table head("|", 0);
  head.add({"scenario", scenario.name});
  head.add({"model", model_text(scenario.job.model)});
  head.add({"cluster", cluster_text(scenario.job.cluster)});
  head.add({"strategy", strategy_text(scenario.job)});
  return head.text() + '\n' + length_table(prediction) + parts_table(prediction.estimate) + causes_text(prediction) +
         advice(prediction) + costs_table(scenario.job, prediction) + drawing(prediction, std::max(20, width - 18)) +
         fmt::format("\n{} simulated days a second\n", format_count(prediction.simulated_days_per_s)) +
         notes_text(report.notes);
}

}  // namespace mirfak
