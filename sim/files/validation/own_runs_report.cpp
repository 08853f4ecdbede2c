#include "validation/own_runs_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <span>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::string predicted_text(double predicted_s, double measured_s) {
  return fmt::format("{}  {:>7}", format_seconds(predicted_s), format_signed_percent(predicted_s / measured_s - 1));
}

bool is_doubtful(const OwnRun& run) {
  const double times = run.measured_s / run.predicted_s;
  return times > kMostTimesAsLong || times < 1 / kMostTimesAsLong;
}

std::string doubtful_text(const OwnRunsFit& fit) {
  std::string out;
  for (const OwnRun& run : fit.runs) {
    if (!is_doubtful(run)) continue;
    const double times = run.measured_s / run.predicted_s;
    out +=
        fmt::format("{}: took {:.2g} times as long as predicted, and counts as {:g}: did it run what its row says?\n",
                    run.where.text(), times, times > 1 ? kMostTimesAsLong : 1 / kMostTimesAsLong);
  }
  return out;
}

std::string skipped_text(std::span<const ValidatedRun> runs) {
  std::string out;
  for (const ValidatedRun& run : runs) {
    if (!run.simulated()) out += fmt::format("{}: not used: {}\n", run.run.where.text(), run.skipped);
    if (run.simulated() && !run.scored()) out += fmt::format("{}: not used: it has no time\n", run.run.where.text());
  }
  return out;
}

}  // namespace

Table factors_table(const Correction& correction) {
  Table table("takes | >times as long | as by the profiles");
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    const double factor = correction.factors.*kTimeFactorKeys[i].value;
    const double deviation = std::sqrt(correction.covariance[i][i]);
    table.add({kTimeFactorKeys[i].title, fmt::format("{:.3f}", factor),
               fmt::format("{:.3f} to {:.3f}", factor * std::exp(-deviation), factor * std::exp(deviation))});
  }
  return table;
}

Json factors_json(const Correction& correction) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    out[std::string(kTimeFactorKeys[i].key)] = {{"factor", correction.factors.*kTimeFactorKeys[i].value},
                                                {"deviation", std::sqrt(correction.covariance[i][i])}};
  }
  return out;
}

std::string own_runs_text(const CalibratedRuns& calibrated) {
  const OwnRunsFit& fit = calibrated.fit;
  const bool several = fit.runs.size() > 1;
  std::string out = fmt::format("{} under {}, by {}\n\n", fit.like, fit.correction.framework, fit.correction.source) +
                    factors_table(fit.correction).text() + "\n";
  Table table(fmt::format("run | >measured | >as it is | >{} | >corrected", several ? "by the others" : ""));
  for (const OwnRun& run : fit.runs) {
    table.add({run.where.text(), in_seconds(run.measured_s), predicted_text(run.predicted_s, run.measured_s),
               several ? predicted_text(run.left_out_s, run.measured_s) : "",
               predicted_text(run.corrected_s, run.measured_s)});
  }
  table.add({"mean absolute error", "", format_percent(fit.error_before()),
             several ? format_percent(fit.error_left_out()) : "", format_percent(fit.error_after())});
  return out + table.text() + doubtful_text(fit) + skipped_text(calibrated.runs);
}

Json own_runs_json(const CalibratedRuns& calibrated) {
  const OwnRunsFit& fit = calibrated.fit;
  Json rows = Json::array();
  for (const OwnRun& run : fit.runs) {
    Json row = {{"line", run.where.line},
                {"measured_s", run.measured_s},
                {"predicted_s", run.predicted_s},
                {"corrected_s", run.corrected_s},
                {"doubtful", is_doubtful(run)}};
    if (fit.runs.size() > 1) row["left_out_s"] = run.left_out_s;
    rows.push_back(std::move(row));
  }
  Json skipped = Json::array();
  for (const ValidatedRun& run : calibrated.runs) {
    if (!run.simulated()) skipped.push_back({{"line", run.run.where.line}, {"reason", run.skipped}});
  }
  Json out = {{"like", fit.like},
              {"framework", fit.correction.framework},
              {"factors", factors_json(fit.correction)},
              {"run_deviation", fit.correction.run_deviation},
              {"error_before", fit.error_before()},
              {"error_after", fit.error_after()},
              {"runs", std::move(rows)},
              {"skipped_rows", std::move(skipped)}};
  if (fit.runs.size() > 1) out["error_left_out"] = fit.error_left_out();
  return out;
}

}  // namespace mirfak
