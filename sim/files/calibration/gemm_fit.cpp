// The constants that a table can determine depend on its size, and two of the constants are choices rather than slopes:
// the preference of libraries for large tiles is tried in steps, each with a short fit, and the best step gets the long
// fit.
#include "calibration/gemm_table.hpp"
#include "calibration/parameter_fit.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kTrainingRows = 1024;  // products of training have at least as many rows (tokens)
constexpr double kTrainingWidth = 512;  // and at least this width and inner dimension

// The constants that small tables determine, the most significant constants first.
struct TableSize {
  std::size_t rows;
  std::size_t constants;  // number of constants from kBySignificance
};
constexpr std::array<TableSize, 2> kSmallTables = {{{500, 5}, {2000, 10}}};
constexpr std::array<double GemmConstants::*, 10> kBySignificance = {
    &GemmConstants::overhead_s,      &GemmConstants::efficiency,   &GemmConstants::memory_efficiency,
    &GemmConstants::tile_overhead_s, &GemmConstants::quantisation, &GemmConstants::share_128x128,
    &GemmConstants::share_128x64,    &GemmConstants::share_64x64,  &GemmConstants::tile_write_s,
    &GemmConstants::power_threshold};

bool is_large(std::size_t rows) { return rows >= kSmallTables.back().rows; }

bool can_tell(std::size_t rows, double GemmConstants::*constant) {
  const auto size =
      std::find_if(kSmallTables.begin(), kSmallTables.end(), [&](const TableSize& s) { return rows < s.rows; });
  if (size == kSmallTables.end()) return true;
  const auto end = kBySignificance.begin() + static_cast<std::ptrdiff_t>(size->constants);
  return std::find(kBySignificance.begin(), end, constant) != end;
}

// Bounds of the power threshold: a table with little information on the power limit must not yield a threshold without
// any limit, or with nothing but the limit.
constexpr double kLowestThreshold = 0.4;
constexpr double kHighestThreshold = 1;
constexpr int kShortFit = 150;  // calls of the formula
constexpr std::array<double, 3> kPreferences = {0, 0.1, 0.25};

// Returns the weight of a product in the fit: products that are frequent in training have the largest weight.
double weight_of(const GemmShape& shape) {
  double weight = shape.m >= kTrainingRows ? 1 : shape.m >= 128 ? 0.05 : 0.01;
  if (shape.n < kTrainingWidth) weight *= 0.4;
  if (shape.k < 256) weight *= 0.3;
  return weight;
}

class GemmFitting {
 public:
  GemmFitting(std::vector<MeasuredGemm> samples, const GpuSpec& gpu, Precision precision)
      : samples_(std::move(samples)), gpu_(gpu), precision_(precision), base_(usual_constants()) {
    const auto known = gpu.gemm.find(precision);
    if (known != gpu.gemm.end()) base_ = known->second.constants;
    for (const MeasuredGemm& sample : samples_) {
      const GemmShape& s = sample.shape;
      problem_.measured.push_back(sample.seconds);
      problem_.keys.push_back(fmt::format("b={} m={} n={} k={}", s.batch, s.m, s.n, s.k));
      problem_.weights.push_back(weight_of(s));
    }
    problem_.predict = [this](std::span<const double> values, std::span<const std::size_t> indices,
                              std::span<double> predicted) { predict(values, indices, predicted); };
  }
  GemmFitting(const GemmFitting&) = delete;
  GemmFitting& operator=(const GemmFitting&) = delete;

  FittedSection fit() {
    choose_unknowns();
    if (is_large(samples_.size())) base_.preference = best_preference();
    const ParameterFit fit = fit_parameters(problem_);
    base_ = constants(fit.values);
    return section(fit, fmt::format("fit of {} of {} measured products", fit.fitted.size(), samples_.size()));
  }

  FittedSection score() {
    problem_.unknowns.clear();
    return section(evaluate(problem_, {}),
                   fmt::format("the profile's constants on {} measured products", samples_.size()));
  }

 private:
  static GemmConstants usual_constants() {
    GemmConstants out;
    for (const GemmConstantKey& key : kGemmConstants) {
      if (!key.of_casts) out.*key.value = key.start;
    }
    return out;
  }

  bool quantised() const { return bytes_per_element(precision_) < 2; }

  double best_preference() {
    double min = HUGE_VAL;
    double best = 0;
    for (const double preference : kPreferences) {
      base_.preference = preference;
      const double error = training_error(fit_parameters(problem_, 0.05, kShortFit));
      if (error >= min) continue;
      min = error;
      best = preference;
    }
    return best;
  }

  void choose_unknowns() {
    const auto sixteen_bit = gpu_.gemm.find(Precision::bf16);
    for (const GemmConstantKey& key : kGemmConstants) {
      if (key.value == &GemmConstants::preference) continue;
      if (key.of_casts && !quantised()) continue;
      if (!can_tell(samples_.size(), key.value)) continue;
      // The constant time of a product cannot be told apart from the constant time of a cast.
      if (quantised() && key.value == &GemmConstants::overhead_s && sixteen_bit != gpu_.gemm.end()) {
        base_.overhead_s = sixteen_bit->second.constants.overhead_s;
        continue;
      }
      const double highest = key.value == &GemmConstants::power_threshold ? kHighestThreshold : key.maximum;
      const double lowest = key.value == &GemmConstants::power_threshold ? kLowestThreshold : key.minimum;
      unknowns_.push_back(&key);
      problem_.unknowns.push_back({std::string(key.name), key.start, lowest, highest});
    }
  }

  GemmConstants constants(std::span<const double> values) const {
    GemmConstants out = base_;
    for (std::size_t i = 0; i < values.size(); ++i) out.*unknowns_[i]->value = values[i];
    return out;
  }

  void predict(std::span<const double> values, std::span<const std::size_t> indices,
               std::span<double> predicted) const {
    const GemmModel model(gpu_, precision_, constants(values));
    constexpr std::size_t kBlock = 2048;
    parallel_for((indices.size() + kBlock - 1) / kBlock, [&](std::size_t block) {
      for (std::size_t i = block * kBlock; i < std::min((block + 1) * kBlock, indices.size()); ++i) {
        const GemmShape& shape = samples_[indices[i]].shape;
        predicted[i] = model.table_time(shape).seconds + model.cast_seconds(shape);
      }
    });
  }

  FitScore score_of(std::string name, const ParameterFit& fit, double rows, double width) const {
    return score_where(std::move(name), fit, [&](std::size_t sample) {
      const GemmShape& s = samples_[sample].shape;
      return s.m >= rows && s.n >= width && s.k >= width;
    });
  }

  double training_error(const ParameterFit& fit) const {
    const ErrorStatistics errors = score_of({}, fit, kTrainingRows, 0).fitted;
    return errors.median_ape + errors.mape;
  }

  FittedSection section(const ParameterFit& fit, std::string source) const {
    FittedSection out;
    out.path = {"gemm", name_of(precision_)};
    out.source_key = "gemm_" + name_of(precision_);
    out.source = std::move(source);
    for (const GemmConstantKey& key : kGemmConstants) {
      if (!key.of_casts || quantised()) out.constants.push_back({std::string(key.name), base_.*key.value});
    }
    out.scores.push_back(score_of("all", fit, 0, 0));
    out.scores.push_back(score_of(fmt::format("m >= {:g}, n and k >= {:g}", kTrainingRows, kTrainingWidth), fit,
                                  kTrainingRows, kTrainingWidth));
    out.scores.push_back(score_of(fmt::format("m >= {:g}", kTrainingRows), fit, kTrainingRows, 0));
    return out;
  }

  std::vector<MeasuredGemm> samples_;
  const GpuSpec& gpu_;
  Precision precision_;
  GemmConstants base_;
  std::vector<const GemmConstantKey*> unknowns_;
  FitProblem problem_;
};

}  // namespace

std::vector<FittedSection> fit_gemm_tables(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  const GpuSpec gpu = target.gpu_spec();
  const Precision precision = target.precision.value_or(Precision::bf16);
  if (!gpu.peak_flops.contains(precision)) {
    fail_input({}, fmt::format("{} cannot compute in {}", gpu.title, name_of(precision)), "change --precision");
  }
  std::vector<MeasuredGemm> samples;
  for (const CsvTable& table : tables) {
    const std::vector<MeasuredGemm> own = read_gemm_table(table, target);
    samples.insert(samples.end(), own.begin(), own.end());
  }
  GemmFitting fitting(std::move(samples), gpu, precision);
  return {target.score_only ? fitting.score() : fitting.fit()};
}

}  // namespace mirfak
