// A kernel's power at each clock that was set is taken over its power at the highest of them. So kernels of any kind
// say the same of static_share and exponent, and the highest clock need not be the card's full one.
#include "calibration/energy_table.hpp"

#include "base/middle.hpp"
#include "calibration/parameter_fit.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kIdle = "idle";
constexpr std::string_view kWaiting = "waiting";
constexpr std::size_t kFewestClocks = 3;

bool works(const MeasuredPower& row) { return row.kernel != kIdle && row.kernel != kWaiting; }

std::string_view origin(const CalibrationTarget& target) {
  return target.score_only ? "the profile's figures on" : "fit of";
}

// A figure of the profile that is measured as it is: the middle of its rows.
class PowerFigures {
 public:
  PowerFigures(std::span<const MeasuredPower> rows, const CalibrationTarget& target)
      : rows_(rows), target_(target), gpu_(target.gpu_spec()) {
    section_.source_key = "measured_power";
    add("idle_w", kIdle, gpu_.idle_w.value);
    add("blocked_w", kWaiting, gpu_.blocked_w.value);
  }

  std::vector<FittedSection> sections() {
    if (section_.constants.empty()) return {};
    const ParameterFit fit = evaluate(problem(), {});
    section_.source = fmt::format("{} {} measured powers", origin(target_), measured_.size());
    section_.scores = {score_where("all", fit, [](std::size_t) { return true; })};
    return {section_};
  }

 private:
  void add(const char* name, std::string_view kernel, double of_profile) {
    std::vector<double> powers;
    for (const MeasuredPower& row : rows_) {
      if (row.kernel == kernel && !row.clock_set) powers.push_back(row.power_w);
    }
    if (powers.empty()) return;
    const double value = target_.score_only ? of_profile : middle(powers);
    section_.constants.push_back({name, value});
    for (const double power : powers) {
      measured_.push_back(power);
      predicted_.push_back(value);
    }
  }

  FitProblem problem() const {
    FitProblem out;
    out.measured = measured_;
    for (std::size_t i = 0; i < measured_.size(); ++i) out.keys.push_back(fmt::format("power {}", i));
    out.predict = [this](std::span<const double>, std::span<const std::size_t> samples, std::span<double> predicted) {
      for (std::size_t i = 0; i < samples.size(); ++i) predicted[i] = predicted_[samples[i]];
    };
    return out;
  }

  std::span<const MeasuredPower> rows_;
  const CalibrationTarget& target_;
  GpuSpec gpu_;
  FittedSection section_;
  std::vector<double> measured_;
  std::vector<double> predicted_;
};

class ClockFitting {
 public:
  ClockFitting(std::span<const MeasuredPower> rows, const CalibrationTarget& target)
      : target_(target), gpu_(target.gpu_spec()) {
    std::map<std::string, MeasuredPower> highest;  // by kernel
    for (const MeasuredPower& row : rows) {
      if (!row.clock_set || !works(row)) continue;
      MeasuredPower& known = highest.try_emplace(row.kernel, row).first->second;
      if (row.clock_hz > known.clock_hz) known = row;
    }
    std::set<double> clocks;
    for (const MeasuredPower& row : rows) {
      if (!row.clock_set || !works(row)) continue;
      clocks.insert(row.clock_hz);
      const MeasuredPower& top = highest.at(row.kernel);
      if (row.clock_hz >= top.clock_hz) continue;
      shares_.emplace_back(share(row), share(top));
      problem_.measured.push_back(row.power_w / top.power_w);
      problem_.keys.push_back(fmt::format("{} clock={:.0f}", row.kernel, row.clock_hz));
    }
    enough_ = clocks.size() >= kFewestClocks;
    problem_.predict = [this](std::span<const double> values, std::span<const std::size_t> samples,
                              std::span<double> predicted) {
      ClockPower power = gpu_.clock_power;
      if (!values.empty()) {
        power.static_share.value = values[0];
        power.exponent.value = values[1];
      }
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto& [at, top] = shares_[samples[i]];
        predicted[i] = power.draw(at) / power.draw(top);
      }
    };
  }
  ClockFitting(const ClockFitting&) = delete;
  ClockFitting& operator=(const ClockFitting&) = delete;

  std::vector<FittedSection> sections() {
    if (!enough_) return {};
    if (!target_.score_only) problem_.unknowns = {{"static_share", 0.35, 0, 1}, {"exponent", 3, 1, 10}};
    const ParameterFit fit = target_.score_only ? evaluate(problem_, {}) : fit_parameters(problem_);
    const ClockPower& known = gpu_.clock_power;
    FittedSection section;
    section.path = {"clock_power"};
    section.source_key = "clock_power";
    section.constants = {{"static_share", target_.score_only ? known.static_share.value : fit.values[0]},
                         {"exponent", target_.score_only ? known.exponent.value : fit.values[1]}};
    section.source =
        fmt::format("{} {} of {} powers at clocks that were set", origin(target_), fit.fitted.size(), shares_.size());
    section.scores = {score_where("all", fit, [](std::size_t) { return true; })};
    return {section};
  }

 private:
  double share(const MeasuredPower& row) const { return row.clock_hz / gpu_.clock_max_hz.value; }

  const CalibrationTarget& target_;
  GpuSpec gpu_;
  FitProblem problem_;
  std::vector<std::pair<double, double>> shares_;  // of the full clock: of a sample, and of its kernel's highest
  bool enough_ = false;
};

}  // namespace

bool is_energy_table(const CsvTable& table) {
  return has_columns(table, {"kernel", "clock_hz", "clock_set", "power_w"});
}

std::vector<MeasuredPower> read_energy_table(const CsvTable& table, const CalibrationTarget& target) {
  const std::size_t kernel = table.require("kernel");
  const std::size_t clock = table.require("clock_hz");
  const std::size_t set = table.require("clock_set");
  const std::size_t power = table.require("power_w");
  std::vector<MeasuredPower> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!target.selects(table, row)) continue;
    out.push_back({table.text(row, kernel), table.number(row, clock, 1e6, 1e11), table.integer(row, set, 0, 1) == 1,
                   table.number(row, power, 0.1, 1e5)});
  }
  return out;
}

std::vector<FittedSection> fit_energy_tables(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  std::vector<MeasuredPower> rows;
  for (const CsvTable& table : tables) {
    std::vector<MeasuredPower> own = read_energy_table(table, target);
    rows.insert(rows.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  std::vector<FittedSection> out = PowerFigures(rows, target).sections();
  for (FittedSection& section : ClockFitting(rows, target).sections()) out.push_back(std::move(section));
  if (out.empty()) {
    fail_input({tables.front().name(), 0, 0}, "the table says nothing that a profile holds",
               fmt::format("expected rows '{}' or '{}', or kernels at {} clocks that were set", kIdle, kWaiting,
                           kFewestClocks));
  }
  return out;
}

}  // namespace mirfak
