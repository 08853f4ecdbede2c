#include "recording/recording_report.hpp"

#include "base/json_parts.hpp"
#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

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
  Table table("|>|>");
  const auto add = [&](const char* name, Nanoseconds time) {
    table.add({name, shown(time), share(time, summary.first_to_last)});
  };
  add("GPU, first to last", summary.first_to_last);
  add("busy", summary.busy);
  add("communication", summary.communication);
  add("  of it overlapped", summary.overlapped);
  add("  of it exposed", summary.exposed());
  add("everything else", summary.other);
  return out + table.text();
}

Cell shown_seconds(Nanoseconds time) { return in_seconds(seconds(time)); }

Table classes_table(const RecordingSummary& summary) {
  Table table("class:name | >kernels:kernels | >sum:sum_s | >busy:busy_s | >of busy");
  for (const ClassTime& time : summary.classes) {
    table.add(
        {time.name, time.count, shown_seconds(time.sum), shown_seconds(time.busy), share(time.busy, summary.busy)});
  }
  return table;
}

// Returns a cell of a word that a recording may not say.
Cell said_cell(const std::string& word) { return word.empty() ? Cell("", std::monostate()) : Cell(word); }

// Returns a cell of a number of a described collective; `shown`: the number in words.
Cell number_cell(const RecordedCollective* said, std::string shown, const auto& number) {
  if (number) return {std::move(shown), *number};
  return words(said != nullptr ? "not said" : "");
}

Table communication_table(const RecordingSummary& summary) {
  Table table(
      "kernel:kernel | collective:collective | type:type | -:group | group:group_size | -:in_bytes | >bytes:out_bytes "
      "| >count:count | >sum:sum_s | -:shortest_s | >median:median_s | >longest:longest_s");
  for (const CommunicationTime& time : summary.communication_kernels) {
    const RecordedCollective said = time.collective != nullptr ? *time.collective : RecordedCollective{};
    const auto most_bytes = static_cast<double>(std::max(said.out_bytes.value_or(0), said.in_bytes.value_or(0)));
    table.add({Cell(excerpt(time.kernel, kLongestName), time.kernel),
               time.collective != nullptr ? said_cell(said.collective) : words("not said"), said_cell(said.type),
               said_cell(said.group),
               number_cell(time.collective, fmt::format("{} ranks", said.group_size.value_or(0)), said.group_size),
               number_cell(time.collective, "", said.in_bytes),
               number_cell(time.collective, format_bytes(most_bytes), said.out_bytes), time.count,
               shown_seconds(time.sum), shown_seconds(time.shortest), in_seconds(time.median * kSecondsPerNanosecond),
               shown_seconds(time.longest)});
  }
  return table;
}

std::string communication_text(const RecordingSummary& summary) {
  const Table table = communication_table(summary);
  if (table.empty()) return {};
  std::string out = "\nCommunication; times include waiting for the other ranks\n" + table.text(kShownMessages);
  if (kShownMessages < table.rows()) {
    out += fmt::format("  and {} messages more (--format json has all)\n", table.rows() - kShownMessages);
  }
  return out;
}

Table steps_table(const RecordingSummary& summary) {
  Table table(
      "step:name | >host:host_s | >kernels:kernels | >GPU busy:busy_s | >communication:communication_s | "
      ">else:other_s");
  for (const StepTime& time : summary.steps) {
    table.add({time.step->name, shown_seconds(time.step->end - time.step->start), time.kernels,
               shown_seconds(time.busy), shown_seconds(time.communication), shown_seconds(time.other)});
  }
  return table;
}

std::string host_text(const RecordingSummary& summary) {
  Table table("pass | >launches | >median | >mean | >of it the call");
  const auto add = [&](const char* name, const IssueTime& time) {
    if (time.count == 0) return;
    table.add({name, time.count, in_seconds(time.median_s), in_seconds(time.mean_s), in_seconds(time.call_median_s)});
  };
  add("forward", summary.forward);
  add("backward", summary.backward);
  return table.empty() ? "" : "\nHost, from launch to launch\n" + table.text();
}

Table judged_table(const Recording& recording, const ReplayScore& replay) {
  Table table(
      "step:step | >GPU predicted:other_predicted_s | >measured:other_measured_s | >error:other_error | >step "
      "predicted:step_predicted_s | >measured:step_measured_s | >error:step_error | -:kernels | -:unknown_kernels");
  for (const ReplayedStep& step : replay.judged) {
    table.add({recording.steps[step.step].name, in_seconds(step.other_predicted_s), in_seconds(step.other_measured_s),
               Cell(format_signed_percent(step.other_error()), step.other_error()), in_seconds(step.step_predicted_s),
               in_seconds(step.step_measured_s), Cell(format_signed_percent(step.step_error()), step.step_error()),
               step.kernels, step.unknown});
  }
  return table;
}

std::string replay_text(const Recording& recording, const ReplayScore& replay) {
  if (replay.judged.empty()) return {};
  std::string out = fmt::format(
      "\nReplay: fitted to {} steps, judged on those between; GPU time without communication\n{}"
      "  all steps differ by {} in this GPU time and by {} in length ({} to {})\n",
      replay.fitted.size(), judged_table(recording, replay).text(), format_percent(replay.other_spread),
      format_percent(replay.step_spread), format_seconds(replay.shortest_step_s),
      format_seconds(replay.longest_step_s));
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

Json replay_json(const Recording& recording, const ReplayScore& replay) {
  if (replay.judged.empty()) return nullptr;
  Json fitted = Json::array();
  for (const std::size_t step : replay.fitted) fitted.push_back(recording.steps[step].name);
  return {{"fitted", std::move(fitted)},
          {"judged", judged_table(recording, replay).json()},
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
  std::string out = head_text(recording, summary) + "\nGPU time by class\n" + classes_table(summary).text() +
                    communication_text(summary) +
                    (summary.steps.empty() ? "" : "\nSteps\n" + steps_table(summary).text()) + host_text(summary) +
                    replay_text(recording, replay);
  const std::vector<std::string> missing = missing_from(recording, summary);
  if (!missing.empty()) out += "\nNot in the recording, or not read\n";
  for (const std::string& each : missing) out += "  " + each + "\n";
  return out;
}

Json recording_json(const Recording& recording, const RecordingSummary& summary, const ReplayScore& replay) {
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
          {"classes", classes_table(summary).json()},
          {"communication", communication_table(summary).json()},
          {"steps", steps_table(summary).json()},
          {"host", {{"forward", issue_json(summary.forward)}, {"backward", issue_json(summary.backward)}}},
          {"replay", replay_json(recording, replay)},
          {"missing", missing_from(recording, summary)}};
}

}  // namespace mirfak
