#include "comparison/difference_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "comparison/difference_parts.hpp"
#include "report/job_text.hpp"
#include "report/memory_shortage.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownStages = 16;

// A use of a stage's time.
struct StagePart {
  const char* title;
  const char* key;
  double StageSeconds::*seconds;

  std::optional<double> of(const std::optional<StageSeconds>& stage) const {
    return stage ? std::optional((*stage).*seconds) : std::nullopt;
  }
};
constexpr std::array kStageParts = {
    StagePart{"compute", "compute_s", &StageSeconds::compute},
    StagePart{"communication", "communication_s", &StageSeconds::communication},
    StagePart{"host", "host_s", &StageSeconds::host},
    StagePart{"bubble", "bubble_s", &StageSeconds::bubble},
};

std::string compared_head(const ComparedRun& a, const ComparedRun& b) {
  Table table("|", 0);
  for (const ComparedRun* run : {&a, &b}) {
    const Job& job = run->simulation->job;
    table.add({run == &a ? "A" : "B", run->name});
    table.add({"", fmt::format("{}: {} on {}", job.model.name, strategy_text(job), cluster_text(job.cluster))});
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

std::string compared_iteration(const ComparedRun& a, const ComparedRun& b) {
  const IterationResult& x = a.simulation->result;
  const IterationResult& y = b.simulation->result;
  Table table = table_of_both(">");
  table.add({"time", ranged_text(x), ranged_text(y), shown_change(y.iteration_time_s - x.iteration_time_s),
             relative_text(x.iteration_time_s, y.iteration_time_s)});
  add_pair(table, "tokens per second", x.tokens_per_s, y.tokens_per_s, format_count);
  table.add({"MFU", format_percent(x.mfu), format_percent(y.mfu)});
  if (x.gpus != y.gpus) table.add({"GPUs", x.gpus, y.gpus});
  add_pair(table, "energy", x.energy_j, y.energy_j, [](double value) { return format_joules(value); });
  if (x.priced && y.priced) add_pair(table, "cost", x.cost_usd, y.cost_usd, format_usd);
  if (x.facility_energy_j > 0 && y.facility_energy_j > 0) {
    add_pair(table, "energy of the facility", x.facility_energy_j, y.facility_energy_j,
             [](double value) { return format_joules(value); });
  }
  if (x.co2_kg > 0 && y.co2_kg > 0) add_pair(table, "CO2", x.co2_kg, y.co2_kg, format_kilograms);
  table.add({"memory", compared_memory(x), compared_memory(y),
             with_plus_or_minus(y.memory_peak_bytes - x.memory_peak_bytes, format_bytes)});
  if (x.training_time_s > 0 && y.training_time_s > 0) {
    add_pair(table, "whole training", x.training_time_s, y.training_time_s, shown_seconds);
    if (x.priced && y.priced) add_pair(table, "... costs", x.training_cost_usd, y.training_cost_usd, format_usd);
  }
  return "\nIteration\n" + table.text();
}

// Returns "1.20 s -> 1.40 s", or one value if both are equal; "-" for a run that does not have the stage.
std::string both_seconds(const ComparedStage& stage, const StagePart& part) {
  const std::string a = in_seconds(part.of(stage.a)).shown;
  const std::string b = in_seconds(part.of(stage.b)).shown;
  return a == b ? a : a + " -> " + b;
}

// Returns a table of the stages; if there are many, of every n-th stage and the last.
std::string compared_stages(const ResultDifference& difference) {
  if (difference.stages.size() < 2) return {};
  Table table("stage");
  for (const StagePart& part : kStageParts) table.add_column(part.title);
  const std::size_t every = (difference.stages.size() + kShownStages - 1) / kShownStages;
  for (std::size_t i = 0; i < difference.stages.size(); ++i) {
    if (i % every != 0 && i + 1 != difference.stages.size()) continue;
    std::vector<Cell> cells = {difference.stages[i].stage};
    for (const StagePart& part : kStageParts) cells.emplace_back(both_seconds(difference.stages[i], part));
    table.add(std::move(cells));
  }
  const std::string some =
      every > 1 ? fmt::format("; every {}th of {} and the last", every, difference.stages.size()) : std::string();
  return fmt::format("\nBy stage, A -> B (communication: exposed{})\n", some) + table.text();
}

Json compared_stage_json(const std::optional<StageSeconds>& stage) {
  Json out;
  for (const StagePart& part : kStageParts) {
    if (stage) out[part.key] = *part.of(stage);
  }
  return out;
}

Json kernels_json(const std::vector<ComparedKernel>& kernels) {
  Json out = Json::array();
  for (const ComparedKernel& kernel : kernels) {
    out.push_back({{"name", kernel.name},
                   {"kind", name_of(kernel.kind)},
                   {"a", kernel_json(kernel.a)},
                   {"b", kernel_json(kernel.b)},
                   {"difference_s", kernel.difference()}});
  }
  return out;
}

Json run_json(const ComparedRun& run) { return {{"scenario", run.name}, {"fits", run.simulation->result.fits}}; }

struct VerdictWords {
  const char* key;
  const char* text;
};
constexpr std::array kVerdicts = {
    VerdictWords{"equal", "Both take the same time."},
    VerdictWords{"unknown", "How far these predictions are off is not known."},
    VerdictWords{
        "overlap",
        "The ranges overlap: if both were measured, either might be the shorter one. What both predictions have in "
        "common\n  (GPUs, kernels, framework) errs alike in both, so of similar jobs the order is surer than the "
        "ranges say."},
    VerdictWords{"separated",
                 "The ranges do not overlap: the difference is more than what such predictions are usually off by."},
};
VerdictWords words_of(RangeVerdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

}  // namespace

std::string difference_text(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference) {
  std::string out =
      fmt::format("{}{}  {}\n", compared_head(a, b), compared_iteration(a, b), words_of(difference.verdict).text) +
      keys_text(difference.keys) +
      activities_text(difference.activities, a.simulation->result.iteration_time_s,
                      b.simulation->result.iteration_time_s) +
      compared_stages(difference) +
      kernels_text("Kernels: all of a name on one GPU, how many and how long one takes", difference.kernels) +
      kernels_text("Communication of one GPU, hidden behind kernels or not", difference.communication) +
      memory_parts_text(difference.memory) + notes_text(difference.notes);
  for (const ComparedRun* run : {&a, &b}) {
    if (run->simulation->result.fits) continue;
    out += fmt::format("\n{} DOES NOT FIT: {}\n", run == &a ? "A" : "B", memory_shortage_text(run->simulation->result));
  }
  return out;
}

nlohmann::ordered_json difference_json(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference) {
  Json stages = Json::array();
  for (const ComparedStage& stage : difference.stages) {
    stages.push_back(
        {{"stage", stage.stage}, {"a", compared_stage_json(stage.a)}, {"b", compared_stage_json(stage.b)}});
  }
  return {{"a", run_json(a)},
          {"b", run_json(b)},
          {"ranges", words_of(difference.verdict).key},
          {"keys", keys_json(difference.keys)},
          {"figures", figures_json(difference.figures)},
          {"activities", figures_json(difference.activities)},
          {"stages", std::move(stages)},
          {"kernels", kernels_json(difference.kernels)},
          {"communication", kernels_json(difference.communication)},
          {"memory", figures_json(difference.memory)},
          {"notes", difference.notes}};
}

std::string difference_csv(const ResultDifference& difference) {
  Table table = difference_rows();
  add_figure_rows(table, "figures", difference.figures);
  add_figure_rows(table, "activities", difference.activities);
  for (const ComparedStage& stage : difference.stages) {
    for (const StagePart& part : kStageParts) {
      add_row(table, fmt::format("stage {}", stage.stage), part.key, part.of(stage.a), part.of(stage.b));
    }
  }
  add_kernel_rows(table, "kernels_s", difference.kernels);
  add_kernel_rows(table, "communication_s", difference.communication);
  add_figure_rows(table, "memory", difference.memory);
  return table.csv();
}

}  // namespace mirfak
