#include "comparison/captured_difference.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "capture/capture_figures.hpp"
#include "comparison/difference_parts.hpp"
#include "report/job_text.hpp"
#include "scenario/stated_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::vector<FigureValue> figures_of(const ComparedCapture& run) {
  return figure_values(run.simulation.result, run.scenario.cluster.facility());
}

bool is_activity(std::string_view key) {
  const auto parts = captured_time_parts();
  return std::any_of(parts.begin(), parts.end(), [&](const CapturedTimePart& part) { return part.key == key; });
}

ComparedFigure compared(const FigureValue& a, const FigureValue& b) {
  ComparedFigure out;
  out.key = a.key();
  out.title = a.figure->label;
  if (a.known) out.a = a.number;
  if (b.known) out.b = b.number;
  return out;
}

void compare_figures_of(const ComparedCapture& a, const ComparedCapture& b, CaptureDifference& out) {
  const std::vector<FigureValue> of_a = figures_of(a);
  const std::vector<FigureValue> of_b = figures_of(b);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i].asked || of_b[i].asked) out.figures.push_back(compared(of_a[i], of_b[i]));
    if (is_activity(of_a[i].key())) out.activities.push_back(compared(of_a[i], of_b[i]));
  }
}

const CapturedRankResult& fullest_of(const ComparedCapture& run) {
  return run.simulation.result.ranks[run.simulation.result.fullest];
}

void add_memory(const ComparedCapture& a, const ComparedCapture& b, CaptureDifference& out) {
  const auto add = [&](const char* key, const char* title, const auto& bytes) {
    out.memory.push_back({key, title, bytes(a), bytes(b)});
  };
  add("allocated_bytes", "allocated", [](const ComparedCapture& of) { return fullest_of(of).allocated_bytes; });
  add("cached_bytes", "reserved besides",
      [](const ComparedCapture& of) { return fullest_of(of).reserved_bytes - fullest_of(of).allocated_bytes; });
  add("platform_bytes", "platform", [](const ComparedCapture& of) { return of.simulation.result.platform_bytes; });
}

std::string phase_name(CapturePhase phase) { return kCapturePhaseNames[static_cast<std::size_t>(phase)]; }

std::string work_name(const CapturedWork& work) {
  const std::string place = work.module.empty() ? "" : "  " + work.module;
  return work.name.empty() ? fmt::format("{}  {}", work.module.empty() ? "-" : work.module, phase_name(work.phase))
                           : fmt::format("{}{}  {}", work.name, place, phase_name(work.phase));
}

// Adds the work of one side: calls with other tensors in the same place are added up.
void add_work(const std::vector<CapturedWork>& work, bool communicates,
              std::optional<KernelSeconds> ComparedKernel::*side, std::map<std::string, ComparedWork>& out) {
  for (const CapturedWork& each : work) {
    if (each.communicates != communicates) continue;
    ComparedWork& entry = out[work_name(each)];
    entry.name = work_name(each);
    entry.kind = communicates ? TaskKind::collective : TaskKind::kernel;
    entry.operation = each.name;
    entry.module = each.module;
    entry.phase = phase_name(each.phase);
    std::optional<KernelSeconds>& seconds = entry.*side;
    if (!seconds) seconds = KernelSeconds{entry.kind, entry.name, communicates, 0, 0};
    seconds->times += static_cast<double>(each.calls);
    seconds->seconds += each.seconds;
  }
}

std::vector<ComparedWork> compared_work(const std::vector<CapturedWork>& a, const std::vector<CapturedWork>& b,
                                        bool communicates) {
  std::map<std::string, ComparedWork> by_name;
  add_work(a, communicates, &ComparedKernel::a, by_name);
  add_work(b, communicates, &ComparedKernel::b, by_name);
  std::vector<ComparedWork> out;
  for (auto& [name, work] : by_name) out.push_back(std::move(work));
  std::stable_sort(out.begin(), out.end(), [](const ComparedWork& x, const ComparedWork& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
  return out;
}

std::string head(const ComparedCapture& a, const ComparedCapture& b) {
  Table table("|", 0);
  for (const ComparedCapture* run : {&a, &b}) {
    const Capture& capture = *run->scenario.capture;
    table.add({run == &a ? "A" : "B", run->name});
    table.add({"", fmt::format("{} on {} ranks, {}", capture.program, capture.world_size,
                               cluster_text(run->scenario.cluster))});
  }
  return table.text();
}

std::string iteration_text(const ComparedCapture& a, const ComparedCapture& b) {
  const CaptureResult& x = a.simulation.result;
  const CaptureResult& y = b.simulation.result;
  Table table = table_of_both(">");
  add_pair(table, "time", x.iteration_s, y.iteration_s, shown_seconds);
  if (x.gpus != y.gpus) table.add({"GPUs", x.gpus, y.gpus});
  add_pair(table, "energy", x.energy_j, y.energy_j, [](double value) { return format_joules(value); });
  if (x.cost_usd && y.cost_usd) add_pair(table, "cost", *x.cost_usd, *y.cost_usd, format_usd);
  const auto memory = [](const CapturedRankResult& rank) {
    return fmt::format("{} of {}{}", format_bytes(rank.memory_bytes), format_bytes(rank.capacity_bytes),
                       rank.fits ? "" : ", DOES NOT FIT");
  };
  table.add({"memory", memory(fullest_of(a)), memory(fullest_of(b)),
             with_plus_or_minus(fullest_of(b).memory_bytes - fullest_of(a).memory_bytes, format_bytes)});
  return "\nIteration\n" + table.text();
}

std::vector<ComparedKernel> for_people(const std::vector<ComparedWork>& work) { return {work.begin(), work.end()}; }

Json work_json(const std::vector<ComparedWork>& work) {
  Json out = Json::array();
  for (const ComparedWork& each : work) {
    Json entry = Json::object();
    if (!each.operation.empty()) entry["name"] = each.operation;
    entry["phase"] = each.phase;
    entry["module"] = each.module;
    entry["a"] = kernel_json(each.a);
    entry["b"] = kernel_json(each.b);
    entry["difference_s"] = each.difference();
    out.push_back(std::move(entry));
  }
  return out;
}

Json run_json(const ComparedCapture& run) {
  return {{"scenario", run.name}, {"capture", run.scenario.capture->file}, {"fits", run.simulation.result.fits}};
}

}  // namespace

ComparedCapture compared_capture(Document document, std::span<const std::string> own, const CaptureSources& sources) {
  for (const std::string& assignment : own) document.override_value(assignment);
  CapturedScenario scenario = read_captured_scenario(document, sources);
  CaptureSimulation simulation = simulate(scenario, sources);
  std::error_code ignored;
  const bool of_file = std::filesystem::is_regular_file(document.name(), ignored);
  std::string name = of_file ? document.name() : scenario.capture->file;
  if (!own.empty()) name += fmt::format(" with {}", fmt::join(own, ", "));
  return {std::move(scenario), std::move(simulation), std::move(name)};
}

CaptureDifference capture_difference(const ComparedCapture& a, const ComparedCapture& b) {
  const CaptureResult& of_a = a.simulation.result;
  const CaptureResult& of_b = b.simulation.result;
  CaptureDifference out;
  out.keys = key_differences(a.scenario.completed, b.scenario.completed);
  compare_figures_of(a, b, out);
  add_memory(a, b, out);
  out.operators = compared_work(of_a.work, of_b.work, false);
  out.communication = compared_work(of_a.work, of_b.work, true);
  out.modules = compared_work(of_a.modules, of_b.modules, false);
  for (const ComparedCapture* run : {&a, &b}) {
    std::vector<std::string> notes = stated_notes(run->scenario.document);
    const std::vector<std::string>& found = run->simulation.result.notes;
    notes.insert(notes.end(), found.begin(), found.end());
    for (std::string& note : notes_unchecked(run->scenario.assertions)) notes.push_back(std::move(note));
    for (std::string& note : notes) {
      if (std::find(out.notes.begin(), out.notes.end(), note) == out.notes.end()) out.notes.push_back(std::move(note));
    }
  }
  return out;
}

std::string capture_difference_text(const ComparedCapture& a, const ComparedCapture& b,
                                    const CaptureDifference& difference) {
  const std::string ranks =
      fmt::format("rank {} of A, {} of B", a.simulation.result.longest, b.simulation.result.longest);
  return head(a, b) + iteration_text(a, b) + keys_text(difference.keys) +
         activities_text(difference.activities, a.simulation.result.iteration_s, b.simulation.result.iteration_s) +
         kernels_text(fmt::format("Operators ({}): calls, and how long one takes", ranks),
                      for_people(difference.operators)) +
         kernels_text("Modules: the same, by time of kernels", for_people(difference.modules)) +
         kernels_text("Communication, hidden behind kernels or not", for_people(difference.communication)) +
         memory_parts_text(difference.memory) + notes_text(difference.notes);
}

nlohmann::ordered_json capture_difference_json(const ComparedCapture& a, const ComparedCapture& b,
                                               const CaptureDifference& difference) {
  return {{"a", run_json(a)},
          {"b", run_json(b)},
          {"keys", keys_json(difference.keys)},
          {"figures", figures_json(difference.figures)},
          {"activities", figures_json(difference.activities)},
          {"operators", work_json(difference.operators)},
          {"modules", work_json(difference.modules)},
          {"communication", work_json(difference.communication)},
          {"memory", figures_json(difference.memory)},
          {"notes", difference.notes}};
}

std::string capture_difference_csv(const CaptureDifference& difference) {
  Table table = difference_rows();
  add_figure_rows(table, "figures", difference.figures);
  add_figure_rows(table, "activities", difference.activities);
  add_kernel_rows(table, "operators_s", difference.operators);
  add_kernel_rows(table, "modules_s", difference.modules);
  add_kernel_rows(table, "communication_s", difference.communication);
  add_figure_rows(table, "memory", difference.memory);
  return table.csv();
}

}  // namespace mirfak
