#include "report/recorded_run_report.hpp"

#include "base/units.hpp"
#include "report/recording_report.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
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

std::string recorded_run_text(const RecordedFit& fit, const std::optional<RecordedHost>& host) {
  std::string out = fmt::format("{} under {}, by {}\n\n", fit.like, fit.correction.framework, fit.correction.source);
  TextTable factors("lrl");
  factors.add_row({"takes", "times as long", "as by the profiles"});
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    const double factor = fit.correction.factors.*kTimeFactorKeys[i].value;
    const double deviation = std::sqrt(fit.correction.covariance[i][i]);
    factors.add_row({std::string(kTimeFactorKeys[i].title), fmt::format("{:.3f}", factor),
                     fmt::format("{:.3f} to {:.3f}", factor * std::exp(-deviation), factor * std::exp(deviation))});
  }
  TextTable parts("lrrrrrr");
  parts.add_row({"", "measured", "as it is", "corrected", "error before", "after", "steps differ by"});
  for (const RecordedPart& part : fit.parts) {
    parts.add_row({part.name, format_seconds(part.measured_s), format_seconds(part.predicted_s),
                   format_seconds(part.corrected_s), format_percent(part.error_before),
                   format_percent(part.error_after), format_percent(part.spread)});
  }
  out += factors.text() + "\n" + parts.text();
  out += fmt::format("  errors: of {} steps, as predicted without and with a correction by the {} others\n", fit.judged,
                     fit.fitted);
  for (const std::string& note : fit.notes) out += "  " + note + "\n";
  return out + host_line(host);
}

Json recorded_run_json(const RecordedFit& fit, const std::optional<RecordedHost>& host) {
  Json factors = Json::object();
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    factors[std::string(kTimeFactorKeys[i].key)] = {{"factor", fit.correction.factors.*kTimeFactorKeys[i].value},
                                                    {"deviation", std::sqrt(fit.correction.covariance[i][i])}};
  }
  Json parts = Json::array();
  for (const RecordedPart& part : fit.parts) {
    parts.push_back({{"name", part.name},
                     {"measured_s", part.measured_s},
                     {"predicted_s", part.predicted_s},
                     {"corrected_s", part.corrected_s},
                     {"error_before", part.error_before},
                     {"error_after", part.error_after},
                     {"spread", part.spread}});
  }
  Json of_host = nullptr;
  if (host) {
    of_host = {{"forward_s", host->forward_s}, {"backward_s", host->backward_s}, {"launches", host->launches}};
  }
  return {{"like", fit.like},
          {"framework", fit.correction.framework},
          {"factors", std::move(factors)},
          {"run_deviation", fit.correction.run_deviation},
          {"fitted_steps", fit.fitted},
          {"judged_steps", fit.judged},
          {"parts", std::move(parts)},
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
