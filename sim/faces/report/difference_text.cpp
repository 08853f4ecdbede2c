#include "base/units.hpp"
#include "report/difference_report.hpp"
#include "report/job_text.hpp"
#include "report/memory_shortage.hpp"
#include "report/text_table.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr std::size_t kShownKernels = 12;
constexpr std::size_t kShownStages = 16;
constexpr double kBarWidth = 20;

// Returns a value with its sign: "+1.20 s", "-300 ms", "0 s".
template <typename Format>
std::string with_plus_or_minus(double value, const Format& format) {
  std::string text = format(std::abs(value));
  if (text.starts_with("0 ") || text == "0" || text == "$0") return text;
  return (value < 0 ? "-" : "+") + text;
}
std::string shown_seconds(double value) { return format_seconds(value); }
std::string shown_change(double value) { return with_plus_or_minus(value, shown_seconds); }

// Returns the difference of B from A in per cent of A; "" if A is 0.
std::string relative_text(double a, double b) { return a > 0 ? format_signed_percent(b / a - 1) : ""; }

std::string compared_head(const ComparedRun& a, const ComparedRun& b) {
  TextTable table("ll", 0);
  for (const ComparedRun* run : {&a, &b}) {
    const Job& job = run->simulation->job;
    table.add_row({run == &a ? "A" : "B", run->name});
    table.add_row({"", fmt::format("{}: {} on {}", job.model.name, strategy_text(job), cluster_text(job.cluster))});
  }
  return table.text();
}

std::string ranged_text(const IterationResult& result) {
  const std::string time = format_seconds(result.iteration_time_s);
  return result.iteration_time_low_s > 0 ? fmt::format("{} ({})", time, range_text(result)) : time;
}

std::string compared_memory(const IterationResult& result) {
  return fmt::format("{} of {}{}", format_bytes(result.memory_peak_bytes), format_bytes(result.memory_capacity_bytes),
                     result.fits ? "" : ", DOES NOT FIT");
}

// Adds a row of two figures, with their difference.
template <typename Format>
void add_pair(TextTable& table, const std::string& title, double a, double b, const Format& format) {
  table.add_row({title, format(a), format(b), with_plus_or_minus(b - a, format), relative_text(a, b)});
}

std::string compared_iteration(const ComparedRun& a, const ComparedRun& b) {
  const IterationResult& x = a.simulation->result;
  const IterationResult& y = b.simulation->result;
  TextTable table("lrrrr");
  table.add_row({"", "A", "B", "B - A"});
  table.add_row({"time", ranged_text(x), ranged_text(y), shown_change(y.iteration_time_s - x.iteration_time_s),
                 relative_text(x.iteration_time_s, y.iteration_time_s)});
  add_pair(table, "tokens per second", x.tokens_per_s, y.tokens_per_s, format_count);
  table.add_row({"MFU", format_percent(x.mfu), format_percent(y.mfu)});
  if (x.gpus != y.gpus) table.add_row({"GPUs", fmt::format("{}", x.gpus), fmt::format("{}", y.gpus)});
  add_pair(table, "energy", x.energy_j, y.energy_j, [](double value) { return format_joules(value); });
  if (x.priced && y.priced) add_pair(table, "cost", x.cost_usd, y.cost_usd, format_usd);
  if (x.facility_energy_j > 0 && y.facility_energy_j > 0) {
    add_pair(table, "energy of the facility", x.facility_energy_j, y.facility_energy_j,
             [](double value) { return format_joules(value); });
  }
  if (x.co2_kg > 0 && y.co2_kg > 0) add_pair(table, "CO2", x.co2_kg, y.co2_kg, format_kilograms);
  table.add_row({"memory", compared_memory(x), compared_memory(y),
                 with_plus_or_minus(y.memory_peak_bytes - x.memory_peak_bytes, format_bytes)});
  if (x.training_time_s > 0 && y.training_time_s > 0) {
    add_pair(table, "whole training", x.training_time_s, y.training_time_s, shown_seconds);
    if (x.priced && y.priced) add_pair(table, "... costs", x.training_cost_usd, y.training_cost_usd, format_usd);
  }
  return "\nIteration\n" + table.text();
}

std::string keys_text(const ResultDifference& difference) {
  if (difference.keys.empty()) return "\nBoth scenarios say the same.\n";
  TextTable table("lll");
  table.add_row({"", "A", "B"});
  for (const KeyDifference& key : difference.keys) {
    table.add_row({key.key, key.a.value_or("(none)"), key.b.value_or("(none)")});
  }
  return "\nWhat is set otherwise\n" + table.text();
}

std::string bar_text(double difference, double largest) {
  if (largest <= 0) return {};
  const auto length = static_cast<std::size_t>(std::lround(std::abs(difference) / largest * kBarWidth));
  return std::string(length, difference < 0 ? '-' : '+');
}

double largest_of(const std::vector<ComparedFigure>& figures) {
  double largest = 0;
  for (const ComparedFigure& figure : figures) largest = std::max(largest, std::abs(figure.difference()));
  return largest;
}

std::string activities_text(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference) {
  TextTable table("lrrrl");
  table.add_row({"", "A", "B", "B - A"});
  const double largest = largest_of(difference.activities);
  for (const ComparedFigure& figure : difference.activities) {
    if (*figure.a <= 0 && *figure.b <= 0) continue;
    table.add_row({figure.title, format_seconds(*figure.a), format_seconds(*figure.b),
                   shown_change(figure.difference()), bar_text(figure.difference(), largest)});
  }
  const double of_a = a.simulation->result.iteration_time_s;
  const double of_b = b.simulation->result.iteration_time_s;
  table.add_row({"iteration", format_seconds(of_a), format_seconds(of_b), shown_change(of_b - of_a)});
  return "\nWhere the time of a GPU goes: the differences add up to that of the iteration\n" + table.text();
}

// Returns "1.20 s -> 1.40 s", or one value if both are equal; "-" for a run that does not have the stage.
std::string both_seconds(const ComparedStage& stage, double StageSeconds::*part) {
  const auto text = [part](const std::optional<StageSeconds>& of) { return of ? format_seconds((*of).*part) : "-"; };
  const std::string a = text(stage.a);
  const std::string b = text(stage.b);
  return a == b ? a : a + " -> " + b;
}

// Returns a table of the stages; if there are many, of every n-th stage and the last.
std::string compared_stages(const ResultDifference& difference) {
  if (difference.stages.size() < 2) return {};
  TextTable table("lrrrr");
  table.add_row({"stage", "compute", "communication", "host", "bubble"});
  const std::size_t every = (difference.stages.size() + kShownStages - 1) / kShownStages;
  for (std::size_t i = 0; i < difference.stages.size(); ++i) {
    if (i % every != 0 && i + 1 != difference.stages.size()) continue;
    const ComparedStage& stage = difference.stages[i];
    table.add_row({fmt::format("{}", stage.stage), both_seconds(stage, &StageSeconds::compute),
                   both_seconds(stage, &StageSeconds::communication), both_seconds(stage, &StageSeconds::host),
                   both_seconds(stage, &StageSeconds::bubble)});
  }
  const std::string some =
      every > 1 ? fmt::format("; every {}th of {} and the last", every, difference.stages.size()) : std::string();
  return fmt::format("\nBy stage, A -> B (communication: exposed{})\n", some) + table.text();
}

std::string kernel_text(const std::optional<KernelSeconds>& kernel) {
  if (!kernel) return "-";
  return fmt::format("{} x {}", format_count(kernel->times), format_seconds(kernel->seconds / kernel->times));
}

std::string kernels_text(const std::string& title, const std::vector<ComparedKernel>& kernels) {
  if (kernels.empty() || kernels.front().difference() == 0) return {};
  TextTable table("lrrrl");
  table.add_row({"", "A", "B", "B - A"});
  double rest = 0;
  std::size_t left_out = 0;
  const double largest = std::abs(kernels.front().difference());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ComparedKernel& kernel = kernels[i];
    if (i >= kShownKernels || (kernel.a && kernel.b && format_seconds(kernel.difference()) == "0 s")) {
      rest += kernel.difference();
      ++left_out;
      continue;
    }
    const std::string only = !kernel.b ? "  only A" : !kernel.a ? "  only B" : "";
    table.add_row({kernel.name, kernel_text(kernel.a), kernel_text(kernel.b), shown_change(kernel.difference()),
                   bar_text(kernel.difference(), largest) + only});
  }
  if (left_out > 0) table.add_row({fmt::format("{} others", left_out), "", "", shown_change(rest)});
  return "\n" + title + "\n" + table.text();
}

std::string memory_parts_text(const ResultDifference& difference) {
  if (largest_of(difference.memory) < 1) return {};
  TextTable table("lrrr");
  table.add_row({"", "A", "B", "B - A"});
  double of_a = 0;
  double of_b = 0;
  for (const ComparedFigure& part : difference.memory) {
    of_a += *part.a;
    of_b += *part.b;
    if (*part.a <= 0 && *part.b <= 0) continue;
    table.add_row({part.title, format_bytes(*part.a), format_bytes(*part.b),
                   with_plus_or_minus(part.difference(), format_bytes)});
  }
  table.add_row({"together", format_bytes(of_a), format_bytes(of_b), with_plus_or_minus(of_b - of_a, format_bytes)});
  return "\nPeak memory of the fullest GPU\n" + table.text();
}

}  // namespace

std::string verdict_text(RangeVerdict verdict) {
  switch (verdict) {
    case RangeVerdict::equal:
      return "Both take the same time.";
    case RangeVerdict::unknown:
      return "How far these predictions are off is not known.";
    case RangeVerdict::overlap:
      return "The ranges overlap: if both were measured, either might be the shorter one. What both predictions have "
             "in "
             "common\n(GPUs, kernels, framework) errs alike in both, so of similar jobs the order is surer than the "
             "ranges say.";
    case RangeVerdict::separated:
      break;
  }
  return "The ranges do not overlap: the difference is more than what such predictions are usually off by.";
}

std::string difference_text(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference) {
  std::string out = compared_head(a, b) + compared_iteration(a, b) + "  ";
  for (const char c : verdict_text(difference.verdict)) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  out += "\n" + keys_text(difference) + activities_text(a, b, difference) + compared_stages(difference) +
         kernels_text("Kernels: all of a name on one GPU, how many and how long one takes", difference.kernels) +
         kernels_text("Communication of one GPU, hidden behind kernels or not", difference.communication) +
         memory_parts_text(difference) + notes_text(difference.notes);
  for (const ComparedRun* run : {&a, &b}) {
    if (run->simulation->result.fits) continue;
    out += fmt::format("\n{} DOES NOT FIT: {}\n", run == &a ? "A" : "B", memory_shortage_text(run->simulation->result));
  }
  return out;
}

}  // namespace mirfak
