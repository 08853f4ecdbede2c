#include "replay/replay_report.hpp"

#include "base/json_parts.hpp"
#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 5;                // precision to which replayed times are known
constexpr std::size_t kShownWorkers = 8;  // workers in text; JSON has all that were idealised

Cell shown(double seconds) { return in_seconds(seconds, kDigits); }

std::string head_text(const Replay& replay) {
  const MeasuredTrace& trace = replay.trace();
  return fmt::format("{}: {} steps, {} ranks ({} data ranks, {} stages{}), {} operations\n\n", trace.name,
                     trace.steps.size(), trace.ranks.size(), trace.data_ranks().size(), trace.stages,
                     trace.peers > 1 ? fmt::format(", {} of each", trace.peers) : "", trace.operations.size());
}

std::string times_text(const StragglerAnalysis& analysis, const std::string& question) {
  const auto extremes = [&](auto time) {
    double least = time(analysis.steps.front());
    double most = least;
    for (const StepTimes& step : analysis.steps) {
      least = std::min(least, time(step));
      most = std::max(most, time(step));
    }
    return std::pair{least, most};
  };
  Table table("a step takes | >mean | >shortest | >longest |");
  const auto add = [&](const std::string& name, double mean, auto time, const std::string& remark) {
    const auto [least, most] = extremes(time);
    table.add({name, shown(mean), shown(least), shown(most), remark});
  };
  add(
      "as measured", analysis.mean_measured_s, [](const StepTimes& step) { return step.measured_s; }, "");
  add(
      "replayed, without launch gaps", analysis.mean_replayed_s, [](const StepTimes& step) { return step.replayed_s; },
      fmt::format("gaps cost {}", format_percent(analysis.launch_slowdown - 1)));
  add(
      "without stragglers", analysis.mean_without_stragglers_s,
      [](const StepTimes& step) { return step.without_stragglers_s; },
      fmt::format("stragglers cost {}", format_percent(analysis.slowdown - 1)));
  if (analysis.mean_what_if_s) {
    add(
        question, *analysis.mean_what_if_s, [](const StepTimes& step) { return *step.what_if_s; },
        fmt::format("{} beside the replay",
                    format_signed_percent(*analysis.mean_what_if_s / analysis.mean_replayed_s - 1)));
  }
  return table.text();
}

void add_blame(Table& table, const StragglerAnalysis& analysis, const Blame& blame) {
  const auto removed = removed_share(blame, analysis.mean_replayed_s, analysis.mean_without_stragglers_s);
  std::string name = blame.name;
  if (!blame.ranks.empty()) name += fmt::format(" (rank {})", excerpt(ranges_text(blame.ranks), 40));
  table.add({name, fmt::format("{:.4f}", blame.slowdown), shown(blame.without_s), in_percent(removed)});
}

std::string blame_text(const StragglerAnalysis& analysis) {
  std::string out = "\nWho is to blame\n";
  Table table("|>|>|>");
  const auto group = [&](const char* title, const std::vector<Blame>& blames, std::size_t most) {
    table.add({title, "slowdown by these alone", "step without", "of the slowdown goes"});
    std::vector<const Blame*> sorted;
    for (const Blame& blame : blames) sorted.push_back(&blame);
    std::stable_sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->without_s < b->without_s; });
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) add_blame(table, analysis, *sorted[i]);
    if (sorted.size() > most) table.add({fmt::format("... {} more in --format json", sorted.size() - most)});
    table.add({});
  };
  constexpr std::size_t all = 16;
  group("stages", analysis.stages, all);
  group("data ranks", analysis.data_ranks, all);
  group("operations", analysis.categories, all);
  group("workers", analysis.workers, kShownWorkers);
  table.add({"together", "slowdown by these alone", "step without", "of the slowdown goes"});
  Blame last = analysis.last_stage;
  last.name = "the last stage (" + last.name + ")";
  add_blame(table, analysis, last);
  Blame slowest = analysis.slowest_workers;
  slowest.name = analysis.counted_workers == 1 ? "the slowest worker"
                                               : fmt::format("the slowest {} workers", analysis.counted_workers);
  add_blame(table, analysis, slowest);
  return out + table.text();
}

Json blame_json(const StragglerAnalysis& analysis, const Blame& blame) {
  Json out;
  if (blame.of.data) out["data_rank"] = *blame.of.data;
  if (blame.of.stage) out["stage"] = *blame.of.stage;
  if (!blame.of.type.empty()) out["operation"] = blame.of.type;
  if (!blame.ranks.empty()) out["ranks"] = blame.ranks;
  out["slowdown"] = blame.slowdown;
  out["without_these_s"] = blame.without_s;
  out["only_these_s"] = blame.only_s;
  out["removed_share"] =
      json_or_null(removed_share(blame, analysis.mean_replayed_s, analysis.mean_without_stragglers_s));
  out["added_share"] = json_or_null(added_share(blame, analysis.mean_replayed_s, analysis.mean_without_stragglers_s));
  return out;
}

Json blames_json(const StragglerAnalysis& analysis, const std::vector<Blame>& blames, bool scored = false) {
  Json out = Json::array();
  for (const Blame& blame : blames) {
    out.push_back(blame_json(analysis, blame));
    if (scored) out.back()["score"] = blame.score;
  }
  return out;
}

Json steps_json(const StragglerAnalysis& analysis) {
  Json out = Json::array();
  for (const StepTimes& step : analysis.steps) {
    Json entry{{"step", step.step},
               {"measured_s", step.measured_s},
               {"replayed_s", step.replayed_s},
               {"without_stragglers_s", step.without_stragglers_s}};
    if (step.what_if_s) entry["what_if_s"] = *step.what_if_s;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::string replay_text(const Replay& replay, const StragglerAnalysis& analysis, const std::string& question,
                        std::span<const std::string> notes) {
  std::string out = head_text(replay) + times_text(analysis, question) + blame_text(analysis);
  for (const std::string& note : notes) out += "\nnote: " + note + "\n";
  return out;
}

Json replay_json(const Replay& replay, const StragglerAnalysis& analysis, const std::string& question,
                 std::span<const std::string> notes, double wall_time_s) {
  const MeasuredTrace& trace = replay.trace();
  Json out{{"trace", trace.name},
           {"data_ranks_recorded", trace.data_ranks().size()},
           {"stages_recorded", analysis.stages.size()},
           {"ranks_recorded", trace.ranks.size()},
           {"operations_recorded", trace.operations.size()},
           {"mean_measured_s", analysis.mean_measured_s},
           {"mean_replayed_s", analysis.mean_replayed_s},
           {"mean_without_stragglers_s", analysis.mean_without_stragglers_s},
           {"slowdown", analysis.slowdown},
           {"launch_slowdown", analysis.launch_slowdown}};
  if (analysis.mean_what_if_s) {
    out["what_if"] = question;
    out["mean_what_if_s"] = *analysis.mean_what_if_s;
  }
  out["steps"] = steps_json(analysis);
  out["ideal"] = Json::array();
  for (const IdealDuration& ideal : replay.ideal()) {
    out["ideal"].push_back({{"operation", operation_kinds()[ideal.kind].name},
                            {"operations", ideal.operations},
                            {"ideal_s", ideal.seconds}});
  }
  out["operations"] = blames_json(analysis, analysis.categories);
  out["data_ranks"] = blames_json(analysis, analysis.data_ranks);
  out["stages"] = blames_json(analysis, analysis.stages);
  out["workers"] = blames_json(analysis, analysis.workers, true);
  out["last_stage"] = blame_json(analysis, analysis.last_stage);
  out["slowest_workers"] = blame_json(analysis, analysis.slowest_workers);
  out["notes"] = notes;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
