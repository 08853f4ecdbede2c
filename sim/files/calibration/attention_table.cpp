// Constants of fused attention from a sweep on an inference server.
//
// Five unknowns belong to all rows: the fixed overhead, the traffic of queries and results that the kernel does not
// hide, and the work that the sweep times in addition to the kernel (a copy into a cache, the second-level cache, the
// power limit in long calls). Each head dimension has four unknowns of its own, and its tile: the tile of 64, 128 or
// 256 rows that fits the rows of this head dimension alone best is taken, then all unknowns are fitted together.
#include "calibration/attention_table.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibration/attention_calls.hpp"
#include "calibration/parameter_fit.hpp"
#include "model/attention_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>

namespace mirfak {

namespace {

constexpr std::string_view kTableKernels = "trtllm";  // kernels whose calls are timed within a server

using Samples = std::vector<MeasuredAttention>;
using TileRows = std::map<int, int>;  // rows of the tile by head dimension

const std::array<Unknown, 6> kShared = {{{"overhead_s", 8e-6, 0, 50e-6},
                                         {"io_passes", 1, 0, 10},
                                         {"side_passes", 1, 0.1, 5},
                                         {"cache_speedup", 2, 1, 8},
                                         {"cache_share", 1, 0.1, 4},
                                         {"throttle_s", 3e-3, 1e-4, 20e-3}}};
const std::array<Unknown, 4> kOfHeads = {
    {{"efficiency", 0.5, 0.05, 1}, {"ramp_s", 1.5e-6, 0, 20e-6}, {"tail", 1.2, 0, 6}, {"throttle", 0.05, 0, 0.5}}};

AttentionFit fit_with(std::span<const double> values, const TileRows& rows) {
  const auto figure = [&](std::size_t i) { return Figure{values[i], {}}; };
  AttentionFit fit;
  fit.table = AttentionTable{};
  fit.table->overhead_s = figure(0);
  fit.io_passes = figure(1);
  fit.table->side_passes = figure(2);
  fit.table->cache_speedup = figure(3);
  fit.table->cache_share = figure(4);
  fit.table->throttle_s = figure(5);
  std::size_t next = kShared.size();
  for (const auto& [head_dim, tile_rows] : rows) {
    AttentionTiles tiles;
    tiles.rows = Figure{static_cast<double>(tile_rows), {}};
    tiles.efficiency = figure(next);
    tiles.ramp_s = figure(next + 1);
    tiles.tail = figure(next + 2);
    tiles.throttle = figure(next + 3);
    fit.head_dims.emplace(head_dim, std::move(tiles));
    next += kOfHeads.size();
  }
  return fit;
}

// Returns the values of the unknowns kShared and kOfHeads in a profile.
std::vector<double> values_of(const AttentionFit& fit) {
  const AttentionTable& table = *fit.table;
  std::vector<double> out = {table.overhead_s.value,    fit.io_passes.value,     table.side_passes.value,
                             table.cache_speedup.value, table.cache_share.value, table.throttle_s.value};
  for (const auto& [head_dim, tiles] : fit.head_dims) {
    const double throttle = tiles.throttle ? tiles.throttle->value : 0;
    out.insert(out.end(), {tiles.efficiency.value, tiles.ramp_s.value, tiles.tail.value, throttle});
  }
  return out;
}

TileRows rows_of(const AttentionFit& fit) {
  TileRows rows;
  for (const auto& [head_dim, tiles] : fit.head_dims) rows.emplace(head_dim, static_cast<int>(tiles.rows.value));
  return rows;
}

// Makes the fit's problem. The arguments must outlive it.
FitProblem problem_of(const GpuSpec& gpu, const Samples& samples, const TileRows& rows) {
  FitProblem problem;
  for (const MeasuredAttention& sample : samples) {
    const AttentionShape& shape = sample.shape;
    problem.measured.push_back(sample.seconds);
    problem.keys.push_back(fmt::format("batch={} seq={} heads={} kv_heads={} head_dim={}", shape.batch, shape.queries,
                                       shape.heads, shape.kv_heads, shape.head_dim));
  }
  problem.unknowns.assign(kShared.begin(), kShared.end());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    problem.unknowns.insert(problem.unknowns.end(), kOfHeads.begin(), kOfHeads.end());
  }
  problem.predict = [&](std::span<const double> values, std::span<const std::size_t> indices,
                        std::span<double> predicted) {
    const AttentionFit fit = fit_with(values, rows);
    const AttentionModel model(gpu, fit);
    for (std::size_t i = 0; i < indices.size(); ++i) predicted[i] = model.table_seconds(samples[indices[i]].shape);
  };
  return problem;
}

ParameterFit fit_samples(const GpuSpec& gpu, const Samples& samples, const TileRows& rows) {
  return fit_parameters(problem_of(gpu, samples, rows), kOutlier);
}

int best_rows(const GpuSpec& gpu, const Samples& samples, int head_dim) {
  Samples own;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(own),
               [&](const MeasuredAttention& sample) { return sample.shape.head_dim == head_dim; });
  int best = kTileRows.front();
  double min = std::numeric_limits<double>::infinity();
  for (const int rows : kTileRows) {
    const double error = error_statistics(fit_samples(gpu, own, {{head_dim, rows}}).fitted).mape;
    if (error >= min) continue;
    min = error;
    best = rows;
  }
  return best;
}

FitScore score_of(std::string name, const ParameterFit& fit, const Samples& samples, double tokens) {
  return score_where(std::move(name), fit, [&](std::size_t sample) { return samples[sample].shape.queries >= tokens; });
}

std::vector<FittedConstant> constants_of(const ParameterFit& fit, const TileRows& rows) {
  std::vector<FittedConstant> out;
  std::size_t next = 0;
  for (const Unknown& unknown : kShared) out.push_back({unknown.name, fit.values[next++]});
  for (const auto& [head_dim, tile_rows] : rows) {
    const std::string prefix = fmt::format("head_dims.{}.", head_dim);
    out.push_back({prefix + "rows", static_cast<double>(tile_rows)});
    for (const Unknown& unknown : kOfHeads) out.push_back({prefix + unknown.name, fit.values[next++]});
  }
  return out;
}

// Computes the errors of the constants that the profile has.
ParameterFit score(const GpuSpec& gpu, const Samples& samples, FittedSection& section) {
  const auto known = gpu.attention.find(std::string(kTableKernels));
  if (known == gpu.attention.end() || !known->second.table) {
    fail_input({}, fmt::format("{} has no constants of a measured attention table to score", gpu.name),
               "leave out --score to fit them");
  }
  const TileRows rows = rows_of(known->second);
  ParameterFit fit = evaluate(problem_of(gpu, samples, rows), values_of(known->second));
  section.constants = constants_of(fit, rows);
  section.source = fmt::format("the profile's constants on {} measured forward calls of at least {:g} tokens",
                               samples.size(), kAttentionTokens);
  return fit;
}

ParameterFit fit_and_note(const GpuSpec& gpu, const Samples& samples, FittedSection& section) {
  TileRows rows;
  for (const MeasuredAttention& sample : samples) rows.emplace(static_cast<int>(sample.shape.head_dim), 0);
  for (auto& [head_dim, tile_rows] : rows) tile_rows = best_rows(gpu, samples, head_dim);
  ParameterFit fit = fit_samples(gpu, samples, rows);
  section.constants = constants_of(fit, rows);
  section.source = fmt::format("fit of {} of {} measured forward calls of at least {:g} tokens", fit.fitted.size(),
                               samples.size(), kAttentionTokens);
  return fit;
}

}  // namespace

namespace {

// Returns the fewest operations of a call in any kernel: the scores of half the pairs if tokens see only those before
// them, the scores of a window, and twice the products for the backward pass.
double least_flop(const MeasuredAttention& sample) {
  const AttentionShape& s = sample.shape;
  const double keys = s.window > 0 ? std::min(s.window, s.keys) : s.keys;
  return (sample.backward ? 2 : 1) * (s.causal ? 2 : 4) * s.batch * s.heads * s.queries * keys *
         (s.head_dim + (s.value_dim > 0 ? s.value_dim : s.head_dim)) / 2;
}

bool is_backward(const CsvTable& table, std::size_t row) {
  const std::optional<std::size_t> pass = table.find("pass");
  if (!pass) return std::filesystem::path(table.name()).stem() == "attention_backward";
  const std::string& name = table.text(row, *pass);
  if (name != "forward" && name != "backward") {
    table.fail(row, *pass, fmt::format("'{}' is no pass", excerpt(name)), "expected forward or backward");
  }
  return name == "backward";
}

}  // namespace

bool is_attention_table(const CsvTable& table) {
  return has_columns(table, {"batch", "seq", "heads", "kv_heads", "head_dim", "latency_us"});
}

std::vector<MeasuredAttention> read_attention_table(const CsvTable& table, const CalibrationTarget& target) {
  const auto size = [&](std::size_t row, std::string_view column) {
    return static_cast<double>(table.integer(row, table.require(column), 1, 1 << 30));
  };
  const std::optional<std::size_t> causal = table.find("causal");
  const std::size_t time = table.require("latency_us");
  const GpuSpec gpu = target.gpu_spec();
  const bool sixteen_bit = gpu.peak_flops.contains(Precision::fp16);
  const bool in_8_bits = attention_in_8_bits(target.attention) && gpu.peak_flops.contains(Precision::fp8);
  const double peak = highest_flops(gpu, in_8_bits ? Precision::fp8 : sixteen_bit ? Precision::fp16 : Precision::fp32);
  const std::string limit = fmt::format("{}'s peak of {:.4g} TFLOP/s", gpu.name, peak / 1e12);
  std::vector<MeasuredAttention> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!target.selects(table, row)) continue;
    MeasuredAttention sample;
    sample.backward = is_backward(table, row);
    sample.shape.batch = size(row, "batch");
    sample.shape.queries = sample.shape.keys = size(row, "seq");
    sample.shape.heads = size(row, "heads");
    sample.shape.kv_heads = size(row, "kv_heads");
    sample.shape.head_dim = size(row, "head_dim");
    sample.shape.causal = !causal || table.integer(row, *causal, 0, 1) == 1;
    if (const auto value = table.find("value_dim")) sample.shape.value_dim = table.number(row, *value, 1, 1 << 20);
    if (const auto window = table.find("window")) sample.shape.window = table.number(row, *window, 0, 1e9);
    sample.seconds = table.number(row, time, 1e-3, 1e9) * 1e-6;
    target.check_possible(table, row, time, sample.seconds, least_flop(sample) / peak, limit);
    if (sample.shape.batch * sample.shape.queries >= kAttentionTokens) out.push_back(sample);
  }
  return out;
}

std::vector<FittedSection> fit_attention_tables(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  const GpuSpec gpu = target.gpu_spec();
  Samples samples;
  for (const CsvTable& table : tables) {
    for (const MeasuredAttention& sample : read_attention_table(table, target)) samples.push_back(sample);
  }
  if (target.attention != kTableKernels) return {fit_attention_calls(gpu, samples, target)};
  if (std::any_of(samples.begin(), samples.end(), [](const MeasuredAttention& sample) { return sample.backward; })) {
    fail_input({}, fmt::format("tables of {} have no backward calls: it has no constants for them", kTableKernels),
               "name the kernels that were measured: --attention cudnn for tables of mirfak-measure");
  }
  FittedSection section;
  const ParameterFit fit = target.score_only ? score(gpu, samples, section) : fit_and_note(gpu, samples, section);
  section.path = {"attention", std::string(kTableKernels)};
  section.source_key = "attention";
  section.scores.push_back(score_of(fmt::format("sequence >= {:g}", kAttentionTokens), fit, samples, kAttentionTokens));
  section.scores.push_back(score_of("all", fit, samples, 0));
  return {section};
}

}  // namespace mirfak
