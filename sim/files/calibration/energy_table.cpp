// A kernel's power at each clock that was set is divided by its power at the highest of these clocks. So kernels of any
// kind determine the same static_share and exponent, and the highest clock need not be the card's full clock.
#include "calibration/energy_table.hpp"

#include "base/averages.hpp"
#include "base/text.hpp"
#include "calibration/parameter_fit.hpp"
#include "cost/gemm_model.hpp"
#include "cost/power_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
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

// Figures of the profile that are measured directly: the middle of their rows.
class PowerFigures {
 public:
  PowerFigures(std::span<const MeasuredPower> rows, const CalibrationTarget& target)
      : rows_(rows), target_(target), gpu_(target.gpu_spec()) {
    section_.source_key = "measured_power";
    add("idle_w", kIdle, gpu_.idle_w.value);
    add("blocked_w", kWaiting, gpu_.blocked_w.value);
    add_sustained_share();
  }

  std::vector<FittedSection> sections() {
    if (section_.constants.empty()) return {};
    const ParameterFit fit = evaluate(problem(), {});
    section_.source = fmt::format("{} {} measured powers and clocks", origin(target_), measured_.size());
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

  // Adds the highest clock of kernels that draw clearly less than the limit: the clock of a device that is warm, but
  // not limited.
  void add_sustained_share() {
    constexpr double kBelowLimit = 0.9;
    double highest = 0;
    for (const MeasuredPower& row : rows_) {
      const bool limited = row.power_w > kBelowLimit * gpu_.limit_w();
      if (works(row) && !row.clock_set && !limited) highest = std::max(highest, row.clock_hz);
    }
    if (highest == 0) return;
    const double share = std::min(1.0, highest / gpu_.clock_max_hz.value);
    const double value = target_.score_only ? gpu_.sustained_share.value : share;
    section_.constants.push_back({"sustained_share", value});
    measured_.push_back(share);
    predicted_.push_back(value);
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

// Products that ran without a pause, compared with the same products a few times in a row.
class LongRuns {
 public:
  LongRuns(std::span<const MeasuredPower> rows, const CalibrationTarget& target)
      : target_(target), gpu_(target.gpu_spec()) {
    for (const MeasuredPower& row : rows) {
      if (row.clock_set || row.flop <= 0 || row.short_time_s <= 0 || !gpu_.gemm.contains(row.precision)) continue;
      add(row);
    }
  }

  std::vector<FittedSection> sections() {
    if (shares_.empty()) return {};
    const double share = target_.score_only ? gpu_.long_run_share(precision_) : middle(shares_);
    FittedSection section;
    section.path = {"long_run_power"};
    section.source_key = "long_run_power";
    std::set<Precision> names = {precision_};
    for (const auto& [precision, figure] : gpu_.long_run_power) names.insert(precision);
    for (const Precision precision : names) section.constants.push_back({name_of(precision), share});
    section.source = fmt::format("{} {} products that ran without a pause", origin(target_), products_.size());
    problem_.predict = [&](std::span<const double>, std::span<const std::size_t> samples, std::span<double> predicted) {
      for (std::size_t i = 0; i < samples.size(); ++i) predicted[i] = seconds(products_[samples[i]], share);
    };
    section.scores = {score_where("all", evaluate(problem_, {}), [](std::size_t) { return true; })};
    return {section};
  }

 private:
  struct Product {
    double overhead_s = 0;
    double busy_s = 0;  // at the full clock
    double utilisation = 0;
    double threshold = 0;  // the fit's power threshold
  };

  void add(const MeasuredPower& row) {
    const GemmModel model(gpu_, row.precision);
    Product product{model.constants().overhead_s, model.busy_of_table(row.short_time_s, row.flop), 0,
                    model.constants().power_threshold};
    product.utilisation = model.utilisation(product.busy_s, row.flop);
    const double clock = product.busy_s / std::max(row.time_s - product.overhead_s, product.busy_s);
    if (product.busy_s <= 0 || clock > kHeld) return;  // not limited by power: no information on the threshold
    precision_ = row.precision;
    shares_.push_back(std::clamp(product.utilisation * std::pow(clock, kPowerExponent) / product.threshold, 0.1, 2.0));
    products_.push_back(product);
    problem_.measured.push_back(row.time_s);
    problem_.keys.push_back(fmt::format("{} {}", row.kernel, products_.size()));
  }

  static double seconds(const Product& product, double share) {
    const PowerLimit limit{product.threshold * share};
    return product.overhead_s + product.busy_s / limit.clock_share(product.utilisation);
  }

  static constexpr double kHeld = 0.98;  // share of the clock: a product that keeps this share is not limited
  const CalibrationTarget& target_;
  GpuSpec gpu_;
  Precision precision_ = Precision::bf16;
  std::vector<Product> products_;
  std::vector<double> shares_;
  FitProblem problem_;
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
  std::vector<std::pair<double, double>> shares_;  // shares of the full clock: sample's, and its kernel's highest
  bool enough_ = false;
};

}  // namespace

namespace {

// Columns that show how much a product slows down in long runs; older tables lack them.
class LongRunColumns {
 public:
  explicit LongRunColumns(const CsvTable& table)
      : table_(table),
        precision_(table.find("precision")),
        flop_(table.find("flop")),
        time_(table.find("time_us")),
        short_time_(table.find("short_time_us")) {}

  void read(std::size_t row, MeasuredPower& out) const {
    if (!precision_ || !flop_ || !time_ || !short_time_) return;
    out.precision = precision_of(row);
    out.flop = table_.number(row, *flop_, 0, 1e20);
    out.time_s = 1e-6 * table_.number(row, *time_, 1e-6, 1e12);
    out.short_time_s = 1e-6 * table_.number(row, *short_time_, 0, 1e12);
  }

 private:
  Precision precision_of(std::size_t row) const {
    const std::string& name = table_.text(row, *precision_);
    const std::vector<std::string>& names = precision_names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<Precision>(found - names.begin());
    table_.fail(row, *precision_, fmt::format("'{}' is no precision", excerpt(name)), "expected " + join_or(names));
  }

  const CsvTable& table_;
  std::optional<std::size_t> precision_;
  std::optional<std::size_t> flop_;
  std::optional<std::size_t> time_;
  std::optional<std::size_t> short_time_;
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
  const LongRunColumns long_run(table);
  std::vector<MeasuredPower> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!target.selects(table, row)) continue;
    out.push_back({table.text(row, kernel), table.number(row, clock, 1e6, 1e11), table.integer(row, set, 0, 1) == 1,
                   table.number(row, power, 0.1, 1e5)});
    long_run.read(row, out.back());
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
  for (FittedSection& section : LongRuns(rows, target).sections()) out.push_back(std::move(section));
  for (FittedSection& section : ClockFitting(rows, target).sections()) out.push_back(std::move(section));
  if (out.empty()) {
    fail_input({tables.front().name(), 0, 0}, "the table says nothing that a profile holds",
               fmt::format("expected rows '{}' or '{}', or kernels at {} clocks that were set", kIdle, kWaiting,
                           kFewestClocks));
  }
  return out;
}

}  // namespace mirfak
