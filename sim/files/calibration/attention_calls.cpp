// Constants of fused attention from kernels timed one by one.
//
// A time contains only the kernel, so the formula is the same as for predictions. A table of a few jobs has few
// rows, and its constants trade against each other: efficiency stretches all calls, `tail` the calls with few tiles,
// `io_passes` the calls of short sequences, `ramp_s` hardly any. So constants are freed in this order as the number of
// rows grows, and a constant that is not freed keeps the value of the profile.
#include "calibration/attention_calls.hpp"

#include "base/error.hpp"
#include "calibration/parameter_fit.hpp"
#include "model/attention_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace mirfak {

namespace {

// Least number of rows from which a constant is fitted: rows of one pass and one head dimension, or, for constants that
// head dimensions share, of all head dimensions.
constexpr std::size_t kRowsForTail = 12;
constexpr std::size_t kRowsForPasses = 18;
constexpr std::size_t kRowsForRamp = 100;
constexpr std::size_t kRowsForTile = 100;

AttentionTiles usual_tiles() {
  AttentionTiles out;
  out.rows = {128, {}};
  out.efficiency = {0.5, {}};
  out.backward_efficiency = {0.44, {}};
  out.ramp_s = {3e-7, {}};
  out.tail = {1, {}};
  return out;
}

class CallFitting {
 public:
  CallFitting(const GpuSpec& gpu, const std::vector<MeasuredAttention>& samples, const CalibrationTarget& target)
      : gpu_(gpu), samples_(samples), target_(target) {
    for (const MeasuredAttention& sample : samples_)
      ++(sample.backward ? backward_rows_ : forward_rows_)[heads(sample)];
    for (const auto& [head_dim, rows] : backward_rows_) {
      if (forward_rows_.contains(head_dim)) continue;
      fail_input({}, fmt::format("there are backward but no forward calls of heads of {}", head_dim),
                 "give the table of forward calls too: attention.csv");
    }
    if (samples_.empty()) {
      fail_input({},
                 fmt::format("no row of the tables has the {:g} tokens of a training-sized call", kAttentionTokens));
    }
    begin_with_profile();
    for (const MeasuredAttention& sample : samples_) {
      const AttentionShape& s = sample.shape;
      problem_.measured.push_back(sample.seconds);
      problem_.keys.push_back(fmt::format("{}batch={} seq={} heads={} kv_heads={} head_dim={} causal={} window={}",
                                          sample.backward ? "backward " : "", s.batch, s.queries, s.heads, s.kv_heads,
                                          s.head_dim, s.causal, s.window));
    }
    problem_.predict = [this](std::span<const double> values, std::span<const std::size_t> indices,
                              std::span<double> predicted) { predict(values, indices, predicted); };
  }
  CallFitting(const CallFitting&) = delete;
  CallFitting& operator=(const CallFitting&) = delete;

  FittedSection fit() {
    choose_unknowns();
    choose_tiles();
    const ParameterFit fit = fit_parameters(problem_, kOutlier);
    set(fit.values);
    return section(fit, fmt::format("fit of {} of {} measured calls of at least {:g} tokens{}", fit.fitted.size(),
                                    samples_.size(), kAttentionTokens, unfitted()));
  }

  FittedSection score() {
    return section(evaluate(problem_, {}),
                   fmt::format("the profile's constants on {} measured calls of at least {:g} tokens", samples_.size(),
                               kAttentionTokens));
  }

 private:
  static int heads(const MeasuredAttention& sample) { return static_cast<int>(sample.shape.head_dim); }

  std::size_t count_of(const std::map<int, std::size_t>& rows, int head_dim) const {
    const auto found = rows.find(head_dim);
    return found == rows.end() ? 0 : found->second;
  }

  // Sets the starting constants of the head dimensions that were measured; the section's other head dimensions are
  // kept.
  void begin_with_profile() {
    const auto own = gpu_.attention.find(target_.attention);
    const AttentionFit* const known =
        own != gpu_.attention.end() ? &own->second : attention_fit(gpu_, std::vector<std::string>{target_.attention});
    if (target_.score_only && own == gpu_.attention.end()) {
      fail_input({}, fmt::format("{} has no constants of attention.{} to score", gpu_.name, target_.attention),
                 "leave out --score to fit them");
    }
    fit_.in_8_bits = attention_in_8_bits(target_.attention);
    fit_.io_passes = known != nullptr ? known->io_passes : Figure{0.7, {}};
    fit_.backward_passes = known != nullptr ? known->backward_passes : Figure{7, {}};
    for (const auto& [head_dim, rows] : forward_rows_) {
      AttentionTiles between_two;
      AttentionTiles tiles =
          known != nullptr ? AttentionModel(gpu_, *known).tiles(head_dim, between_two) : usual_tiles();
      if (own == gpu_.attention.end()) tiles.throttle.reset();  // the throttle belongs to the sweep of its fit
      fit_.head_dims.emplace(head_dim, std::move(tiles));
    }
    if (own == gpu_.attention.end()) return;
    for (const auto& [head_dim, tiles] : own->second.head_dims) {
      if (!fit_.head_dims.contains(head_dim)) kept_.push_back({"head_dims", std::to_string(head_dim)});
    }
  }

  void choose_unknowns() {
    const auto add = [&](bool enough, const char* name, Figure& figure, double minimum, double maximum) {
      if (!enough) return note_unfitted(name);
      problem_.unknowns.push_back({name, std::clamp(figure.value, minimum, maximum), minimum, maximum});
      figures_.push_back(&figure);
    };
    for (auto& [head_dim, tiles] : fit_.head_dims) {
      const std::size_t rows = count_of(forward_rows_, head_dim);
      const bool backward = count_of(backward_rows_, head_dim) > 0;
      ratio_[head_dim] = backward ? 0 : tiles.backward_efficiency.value / tiles.efficiency.value;
      add(true, "efficiency", tiles.efficiency, 0.02, 1);
      if (backward)
        add(true, "backward_efficiency", tiles.backward_efficiency, 0.02, 1);
      else
        note_unfitted("the ratio of backward_efficiency");
      add(rows >= kRowsForTail, "tail", tiles.tail, 0, 6);
      add(rows >= kRowsForRamp, "ramp_s", tiles.ramp_s, 0, 20e-6);
    }
    const auto backward = static_cast<std::size_t>(std::count_if(
        samples_.begin(), samples_.end(), [](const MeasuredAttention& sample) { return sample.backward; }));
    add(samples_.size() - backward >= kRowsForPasses, "io_passes", fit_.io_passes, 0, 10);
    add(backward >= kRowsForPasses, "backward_passes", fit_.backward_passes, 0, 30);
  }

  void note_unfitted(const char* name) {
    if (std::find(unfitted_.begin(), unfitted_.end(), name) == unfitted_.end()) unfitted_.emplace_back(name);
  }

  // Returns the constants that keep the profile's values, for some or all head dimensions.
  std::string unfitted() const {
    return unfitted_.empty() ? std::string() : fmt::format(" (as before: {})", fmt::join(unfitted_, ", "));
  }

  // Chooses the tile of each head dimension with many rows: the tile with the smallest error over all rows.
  void choose_tiles() {
    for (auto& [head_dim, tiles] : fit_.head_dims) {
      if (count_of(forward_rows_, head_dim) < kRowsForTile) continue;
      double best = tiles.rows.value;
      double min = std::numeric_limits<double>::infinity();
      for (const double rows : kTileRows) {
        tiles.rows.value = rows;
        const double error = error_statistics(fit_parameters(problem_, kOutlier).fitted).mape;
        if (error >= min) continue;
        min = error;
        best = rows;
      }
      tiles.rows.value = best;
    }
  }

  void set(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) figures_[i]->value = values[i];
    for (auto& [head_dim, tiles] : fit_.head_dims) {
      const double ratio = ratio_[head_dim];
      if (ratio > 0) tiles.backward_efficiency.value = std::min(1.0, ratio * tiles.efficiency.value);
    }
  }

  void predict(std::span<const double> values, std::span<const std::size_t> indices, std::span<double> predicted) {
    set(values);
    const AttentionModel model(gpu_, fit_);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const MeasuredAttention& sample = samples_[indices[i]];
      predicted[i] = (sample.backward ? model.backward(sample.shape) : model.forward(sample.shape)).seconds;
    }
  }

  FittedSection section(const ParameterFit& fit, std::string source) const {
    FittedSection out;
    out.path = {"attention", target_.attention};
    out.source_key = "attention_" + target_.attention;
    out.source = std::move(source);
    out.kept = kept_;
    out.constants = {{"io_passes", fit_.io_passes.value}, {"backward_passes", fit_.backward_passes.value}};
    for (const auto& [head_dim, tiles] : fit_.head_dims) {
      const std::string prefix = fmt::format("head_dims.{}.", head_dim);
      out.constants.push_back({prefix + "rows", tiles.rows.value});
      out.constants.push_back({prefix + "efficiency", tiles.efficiency.value});
      out.constants.push_back({prefix + "backward_efficiency", tiles.backward_efficiency.value});
      out.constants.push_back({prefix + "ramp_s", tiles.ramp_s.value});
      out.constants.push_back({prefix + "tail", tiles.tail.value});
      if (tiles.throttle) out.constants.push_back({prefix + "throttle", tiles.throttle->value});
    }
    const auto of_pass = [&](bool backward) {
      return [this, backward](std::size_t sample) { return samples_[sample].backward == backward; };
    };
    out.scores.push_back(score_where("forward", fit, of_pass(false)));
    if (!backward_rows_.empty()) out.scores.push_back(score_where("backward", fit, of_pass(true)));
    out.scores.push_back(score_where("all", fit, [](std::size_t) { return true; }));
    return out;
  }

  const GpuSpec& gpu_;
  const std::vector<MeasuredAttention>& samples_;
  const CalibrationTarget& target_;
  std::map<int, std::size_t> forward_rows_;  // rows of the tables, by head dimension
  std::map<int, std::size_t> backward_rows_;
  AttentionFit fit_;              // the constants of the current trial
  std::map<int, double> ratio_;   // backward / forward efficiency by head dimension; 0: backward was measured
  std::vector<Figure*> figures_;  // the unknowns' figures in fit_
  std::vector<std::string> unfitted_;
  std::vector<std::vector<std::string>> kept_;
  FitProblem problem_;
};

}  // namespace

FittedSection fit_attention_calls(const GpuSpec& gpu, const std::vector<MeasuredAttention>& samples,
                                  const CalibrationTarget& target) {
  CallFitting fitting(gpu, samples, target);
  return target.score_only ? fitting.score() : fitting.fit();
}

}  // namespace mirfak
