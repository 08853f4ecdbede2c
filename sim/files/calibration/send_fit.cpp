#include "calibration/send_fit.hpp"

#include "base/units.hpp"
#include "calibration/parameter_fit.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

constexpr std::size_t kFewest = 4;

struct MeasuredSend {
  double bytes = 0;
  double seconds = 0;
};

std::vector<MeasuredSend> read_sends(const CsvTable& table, const CalibrationTarget& target) {
  const std::size_t collective = table.require("collective");
  const std::size_t nodes = table.require("n_nodes");
  const std::size_t bytes = table.require("bytes");
  const std::size_t time = table.require("time_us");
  const LinkSpec link = target.link_spec();
  std::vector<MeasuredSend> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, collective) != "sendrecv" || !target.selects(table, row)) continue;
    if (table.integer(row, nodes, 1, 1 << 20) > 1) continue;
    const MeasuredSend send{table.number(row, bytes, 1, 1e13), 1e-6 * table.number(row, time, 1e-3, 1e12)};
    target.check_possible(table, row, time, send.seconds, send.bytes / link.bandwidth.value,
                          fmt::format("{}'s bandwidth of {}", link.name, format_rate(link.bandwidth.value)));
    out.push_back(send);
  }
  return out;
}

}  // namespace

std::vector<FittedSection> fit_sends(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  std::vector<MeasuredSend> sends;
  for (const CsvTable& table : tables) {
    const std::vector<MeasuredSend> own = read_sends(table, target);
    sends.insert(sends.end(), own.begin(), own.end());
  }
  if (sends.size() < kFewest) return {};
  const LinkSpec link = target.link_spec();
  FitProblem problem;
  if (!target.score_only) {
    problem.unknowns = {{"send_latency_s", 10e-6, 1e-7, 1e-2}, {"send_efficiency", 0.7, 0.005, 1}};
  }
  for (const MeasuredSend& send : sends) {
    problem.measured.push_back(send.seconds);
    problem.keys.push_back(fmt::format("send bytes={:.0f}", send.bytes));
  }
  problem.predict = [&](std::span<const double> values, std::span<const std::size_t> indices,
                        std::span<double> predicted) {
    const double latency = values.empty() ? link.send_latency_s.value : values[0];
    const double efficiency = values.empty() ? link.send_efficiency.value : values[1];
    for (std::size_t i = 0; i < indices.size(); ++i) {
      predicted[i] = latency + sends[indices[i]].bytes / (link.bandwidth.value * efficiency);
    }
  };
  const ParameterFit fit = target.score_only ? evaluate(problem, {}) : fit_parameters(problem);
  FittedSection section;
  section.source_key = "sends";
  section.source =
      fmt::format("{} {} of {} measured sends in a node", target.score_only ? "the profile's figures on" : "fit of",
                  fit.fitted.size(), sends.size());
  section.constants = {{"send_latency_s", target.score_only ? link.send_latency_s.value : fit.values[0]},
                       {"send_efficiency", target.score_only ? link.send_efficiency.value : fit.values[1]}};
  section.scores = {score_where("all", fit, [](std::size_t) { return true; })};
  return {section};
}

}  // namespace mirfak
