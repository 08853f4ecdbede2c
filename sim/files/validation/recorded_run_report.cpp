#include "validation/recorded_run_report.hpp"

#include "base/units.hpp"
#include "recording/recording_report.hpp"
#include "validation/own_runs_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::string host_line(const std::optional<RecordedHost>& host) {
  if (!host) {
    return "  the recording does not tell launches of forward from those of backward passes: the host's issue times "
           "stay "
           "as in the framework\n";
  }
  return fmt::format("  the host issues a kernel in {} in forward, in {} in backward passes ({} launches)\n",
                     format_seconds(host->forward_s), format_seconds(host->backward_s), host->launches);
}

Table parts_of(const RecordedFit& fit) {
  Table table(
      ":name | >measured:measured_s | >as it is:predicted_s | >corrected:corrected_s | >error before:error_before | "
      ">after:error_after | >steps differ by:spread");
  for (const RecordedPart& part : fit.parts) {
    table.add({part.name, in_seconds(part.measured_s), in_seconds(part.predicted_s), in_seconds(part.corrected_s),
               in_percent(part.error_before), in_percent(part.error_after), in_percent(part.spread)});
  }
  return table;
}

std::string recorded_run_text(const RecordedFit& fit, const std::optional<RecordedHost>& host) {
  std::string out = fmt::format("{} under {}, by {}\n\n{}\n{}", fit.like, fit.correction.framework,
                                fit.correction.source, factors_table(fit.correction).text(), parts_of(fit).text());
  out += fmt::format("  errors: of {} steps, as predicted without and with a correction by the {} others\n", fit.judged,
                     fit.fitted);
  for (const std::string& note : fit.notes) out += "  " + note + "\n";
  return out + host_line(host);
}

Json recorded_run_json(const RecordedFit& fit, const std::optional<RecordedHost>& host) {
  Json of_host = nullptr;
  if (host) {
    of_host = {{"forward_s", host->forward_s}, {"backward_s", host->backward_s}, {"launches", host->launches}};
  }
  return {{"like", fit.like},
          {"framework", fit.correction.framework},
          {"factors", factors_json(fit.correction)},
          {"run_deviation", fit.correction.run_deviation},
          {"fitted_steps", fit.fitted},
          {"judged_steps", fit.judged},
          {"parts", parts_of(fit).json()},
          {"host", std::move(of_host)},
          {"notes", fit.notes}};
}

}  // namespace

std::string calibrated_trace_text(const CalibratedTrace& calibrated) {
  std::string out;
  for (std::size_t i = 0; i < calibrated.recordings.size(); ++i) {
    out += (out.empty() ? "" : "\n") +
           recording_text(calibrated.recordings[i], calibrated.summaries[i], calibrated.replays[i]);
  }
  return calibrated.fit ? out + "\n" + recorded_run_text(*calibrated.fit, calibrated.host) : out;
}

Json calibrated_trace_json(const CalibratedTrace& calibrated) {
  Json recordings = Json::array();
  for (std::size_t i = 0; i < calibrated.recordings.size(); ++i) {
    recordings.push_back(recording_json(calibrated.recordings[i], calibrated.summaries[i], calibrated.replays[i]));
  }
  Json out{{"recordings", std::move(recordings)}};
  if (calibrated.fit) out["fit"] = recorded_run_json(*calibrated.fit, calibrated.host);
  return out;
}

}  // namespace mirfak
