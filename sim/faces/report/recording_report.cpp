#include "report/recording_report.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/optional_json.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestName = 48;    // longest name of a kernel in a table of text
constexpr std::size_t kShownMessages = 20;  // messages in text; JSON has all

std::string shown(Nanoseconds time) { return format_seconds(seconds(time)); }
std::string share(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? format_percent(static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

Json text_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string head_text(const Recording& recording, const RecordingSummary& summary) {
  std::string out = recording.file + "\n  ";
  out += recording.gpu.empty() ? "GPU not said" : recording.gpu;
  out += recording.rank ? fmt::format(", rank {}", *recording.rank) : ", rank not said";
  if (recording.world_size) out += fmt::format(" of {}", *recording.world_size);
  if (!recording.nccl_version.empty()) out += ", NCCL " + recording.nccl_version;
  out += fmt::format("; {} kernels, {} copies\n\n", summary.kernels, summary.copies);
  TextTable table("lrr");
  const auto add = [&](const char* name, Nanoseconds time) {
    table.add_row({name, shown(time), share(time, summary.first_to_last)});
  };
  add("GPU, first to last", summary.first_to_last);
  add("busy", summary.busy);
  add("communication", summary.communication);
  add("  of it overlapped", summary.overlapped);
  add("  of it exposed", summary.exposed());
  add("everything else", summary.other);
  return out + table.text();
}

std::string classes_text(const RecordingSummary& summary) {
  TextTable table("lrrrr");
  table.add_row({"class", "kernels", "sum", "busy", "of busy"});
  for (const ClassTime& time : summary.classes) {
    table.add_row(
        {time.name, std::to_string(time.count), shown(time.sum), shown(time.busy), share(time.busy, summary.busy)});
  }
  return "\nGPU time by class\n" + table.text();
}

std::string communication_text(const RecordingSummary& summary) {
  if (summary.communication_kernels.empty()) return {};
  TextTable table("llllrrrrr");
  table.add_row({"kernel", "collective", "type", "group", "bytes", "count", "sum", "median", "longest"});
  const std::size_t rows = std::min(kShownMessages, summary.communication_kernels.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const CommunicationTime& time = summary.communication_kernels[i];
    std::vector<std::string> cells{excerpt(time.kernel, kLongestName), "not said", "", "", ""};
    if (time.collective != nullptr) {
      const RecordedCollective& said = *time.collective;
      cells = {cells[0], said.collective, said.type,
               said.group_size ? fmt::format("{} ranks", *said.group_size) : "not said",
               said.out_bytes ? format_bytes(static_cast<double>(std::max(*said.out_bytes, said.in_bytes.value_or(0))))
                              : "not said"};
    }
    cells.insert(cells.end(), {std::to_string(time.count), shown(time.sum),
                               format_seconds(time.median * kSecondsPerNanosecond), shown(time.longest)});
    table.add_row(std::move(cells));
  }
  std::string out = "\nCommunication; times include waiting for the other ranks\n" + table.text();
  if (rows < summary.communication_kernels.size()) {
    out += fmt::format("  and {} messages more (--format json has all)\n", summary.communication_kernels.size() - rows);
  }
  return out;
}

std::string steps_text(const RecordingSummary& summary) {
  if (summary.steps.empty()) return {};
  TextTable table("lrrrrr");
  table.add_row({"step", "host", "kernels", "GPU busy", "communication", "else"});
  for (const StepTime& time : summary.steps) {
    table.add_row({time.step->name, shown(time.step->end - time.step->start), std::to_string(time.kernels),
                   shown(time.busy), shown(time.communication), shown(time.other)});
  }
  return "\nSteps\n" + table.text();
}

std::string host_text(const RecordingSummary& summary) {
  TextTable table("lrrrr");
  table.add_row({"pass", "launches", "median", "mean", "of it the call"});
  const auto add = [&](const char* name, const IssueTime& time) {
    if (time.count == 0) return;
    table.add_row({name, std::to_string(time.count), format_seconds(time.median_s), format_seconds(time.mean_s),
                   format_seconds(time.call_median_s)});
  };
  add("forward", summary.forward);
  add("backward", summary.backward);
  if (summary.forward.count + summary.backward.count == 0) return {};
  return "\nHost, from launch to launch\n" + table.text();
}

std::string replay_text(const Recording& recording, const ReplayScore& replay) {
  if (replay.judged.empty()) return {};
  TextTable table("lrrrrrr");
  table.add_row({"step", "GPU predicted", "measured", "error", "step predicted", "measured", "error"});
  for (const ReplayedStep& step : replay.judged) {
    table.add_row({recording.steps[step.step].name, format_seconds(step.other_predicted_s),
                   format_seconds(step.other_measured_s), format_signed_percent(step.other_error()),
                   format_seconds(step.step_predicted_s), format_seconds(step.step_measured_s),
                   format_signed_percent(step.step_error())});
  }
  std::string out = fmt::format(
      "\nReplay: fitted to {} steps, judged on those between; GPU time without communication\n{}"
      "  all steps differ by {} in this GPU time and by {} in length ({} to {})\n",
      replay.fitted.size(), table.text(), format_percent(replay.other_spread), format_percent(replay.step_spread),
      format_seconds(replay.shortest_step_s), format_seconds(replay.longest_step_s));
  for (const ReplayedStep& step : replay.judged) {
    if (step.unknown == 0) continue;
    out += fmt::format("  {}: {} of {} kernels occur in no fitted step and are left out\n",
                       recording.steps[step.step].name, step.unknown, step.kernels);
  }
  return out;
}

Json issue_json(const IssueTime& time) {
  if (time.count == 0) return nullptr;
  return {{"launches", time.count},
          {"median_s", time.median_s},
          {"mean_s", time.mean_s},
          {"call_median_s", time.call_median_s}};
}

Json communication_json(const CommunicationTime& time) {
  const RecordedCollective said = time.collective != nullptr ? *time.collective : RecordedCollective{};
  return {{"kernel", time.kernel},
          {"collective", text_json(said.collective)},
          {"type", text_json(said.type)},
          {"group", text_json(said.group)},
          {"group_size", json_or_null(said.group_size)},
          {"in_bytes", json_or_null(said.in_bytes)},
          {"out_bytes", json_or_null(said.out_bytes)},
          {"count", time.count},
          {"sum_s", seconds(time.sum)},
          {"shortest_s", seconds(time.shortest)},
          {"median_s", time.median * kSecondsPerNanosecond},
          {"longest_s", seconds(time.longest)}};
}

Json step_json(const StepTime& time) {
  return {{"name", time.step->name},
          {"host_s", seconds(time.step->end - time.step->start)},
          {"kernels", time.kernels},
          {"busy_s", seconds(time.busy)},
          {"communication_s", seconds(time.communication)},
          {"other_s", seconds(time.other)}};
}

Json replay_json(const Recording& recording, const ReplayScore& replay) {
  if (replay.judged.empty()) return nullptr;
  Json fitted = Json::array();
  for (const std::size_t step : replay.fitted) fitted.push_back(recording.steps[step].name);
  Json judged = Json::array();
  for (const ReplayedStep& step : replay.judged) {
    judged.push_back({{"step", recording.steps[step.step].name},
                      {"other_predicted_s", step.other_predicted_s},
                      {"other_measured_s", step.other_measured_s},
                      {"other_error", step.other_error()},
                      {"step_predicted_s", step.step_predicted_s},
                      {"step_measured_s", step.step_measured_s},
                      {"step_error", step.step_error()},
                      {"kernels", step.kernels},
                      {"unknown_kernels", step.unknown}});
  }
  return {{"fitted", std::move(fitted)},
          {"judged", std::move(judged)},
          {"other_spread", replay.other_spread},
          {"step_spread", replay.step_spread}};
}

}  // namespace

std::vector<std::string> missing_from(const Recording& recording, const RecordingSummary& summary) {
  std::vector<std::string> out;
  if (recording.gpu.empty()) out.emplace_back("the GPU is not said");
  if (recording.steps.empty()) {
    out.emplace_back(
        "no ProfilerStep is recorded: nothing can be fitted to some steps and judged on others; call step() of "
        "the profiler after every iteration");
  } else if (recording.steps.size() == 1) {
    out.emplace_back("one step alone is recorded: nothing can be judged; record two or more");
  }
  if (summary.unlaunched > 0) {
    out.emplace_back(
        fmt::format("the launch of {} of {} kernels and copies is not recorded; they count to the step in which "
                    "they began",
                    summary.unlaunched, recording.kernels.size()));
  }
  if (summary.with_shapes == 0) {
    out.emplace_back(
        "no shapes are recorded: no efficiency of matrix products can follow; record with record_shapes=True");
  }
  if (summary.communications > summary.communications_described) {
    out.emplace_back(
        fmt::format("{} of {} communication kernels come without collective, bytes, type and group: their times "
                    "are all that is known",
                    summary.communications - summary.communications_described, summary.communications));
  }
  for (const auto& [category, count] : recording.unread) {
    out.emplace_back(
        fmt::format("of the category {}, {} event{} not read", excerpt(category), count, count == 1 ? " is" : "s are"));
  }
  out.insert(out.end(), recording.notes.begin(), recording.notes.end());
  return out;
}

std::string recording_text(const Recording& recording, const RecordingSummary& summary, const ReplayScore& replay) {
  std::string out = head_text(recording, summary) + classes_text(summary) + communication_text(summary) +
                    steps_text(summary) + host_text(summary) + replay_text(recording, replay);
  const std::vector<std::string> missing = missing_from(recording, summary);
  if (!missing.empty()) out += "\nNot in the recording, or not read\n";
  for (const std::string& each : missing) out += "  " + each + "\n";
  return out;
}

Json recording_json(const Recording& recording, const RecordingSummary& summary, const ReplayScore& replay) {
  Json classes = Json::array();
  for (const ClassTime& time : summary.classes) {
    classes.push_back(
        {{"name", time.name}, {"kernels", time.count}, {"sum_s", seconds(time.sum)}, {"busy_s", seconds(time.busy)}});
  }
  Json communication = Json::array();
  for (const CommunicationTime& time : summary.communication_kernels) communication.push_back(communication_json(time));
  Json steps = Json::array();
  for (const StepTime& time : summary.steps) steps.push_back(step_json(time));
  return {{"file", recording.file},
          {"gpu", text_json(recording.gpu)},
          {"rank", json_or_null(recording.rank)},
          {"world_size", json_or_null(recording.world_size)},
          {"nccl_version", text_json(recording.nccl_version)},
          {"kernels", summary.kernels},
          {"copies", summary.copies},
          {"first_to_last_s", seconds(summary.first_to_last)},
          {"busy_s", seconds(summary.busy)},
          {"communication_s", seconds(summary.communication)},
          {"overlapped_s", seconds(summary.overlapped)},
          {"exposed_s", seconds(summary.exposed())},
          {"other_s", seconds(summary.other)},
          {"classes", std::move(classes)},
          {"communication", std::move(communication)},
          {"steps", std::move(steps)},
          {"host", {{"forward", issue_json(summary.forward)}, {"backward", issue_json(summary.backward)}}},
          {"replay", replay_json(recording, replay)},
          {"missing", missing_from(recording, summary)}};
}

}  // namespace mirfak
