// GPU profiles. If a GPU has no measured table of its own, `gemm_like` takes over the efficiencies of the GPU whose
// multiprocessors resemble it most:
//
//   peak_flops: {bf16: [148e12, datasheet]}     # the H20's own peak ...
//   gemm_like: h100                             # ... of which a GEMM reaches the share it reaches on an H100
//
// Shares of a peak are properties of the instruction set, the tile shapes and the library, so they carry over within an
// architecture. The peaks and the memory bandwidth stay the GPU's own, and each borrowed figure names its source.
#include "cluster/memory_draw.hpp"
#include "cluster/profiles.hpp"

#include "strategy/precision_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kMicrosecond = 1e-6;

void read_peaks(ProfileFile& file, GpuSpec& gpu) {
  const Node section = file.root().require("peak_flops");
  Mapping peaks(section);
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    const std::optional<Node> node = peaks.find(name_of(precision));
    if (!node) continue;
    const Figure peak = file.figure_at(*node, 1e9, 1e17);
    if (!gpu.peak_flops.empty() && peak.value < gpu.peak_flops.rbegin()->second.value) {
      node->fail("slower than a wider precision of the same GPU", "peaks are dense FLOP/s");
    }
    gpu.peak_flops.emplace(precision, peak);
  }
  peaks.finish();
  if (!gpu.peak_flops.contains(Precision::fp32)) section.fail("the key 'fp32' is missing", "the rate of vector units");
}

GemmFit read_gemm_fit(ProfileFile& file, const Node& node) {
  Mapping mapping(node);
  GemmFit fit;
  for (std::size_t i = 0; i < kGemmConstants.size(); ++i) {
    const GemmConstantKey& key = kGemmConstants[i];
    if (key.of_casts && !mapping.has(key.name)) continue;
    const Figure figure = file.figure(mapping, key.name, key.minimum, key.maximum);
    fit.constants.*key.value = figure.value;
    fit.sources[i] = figure.source;
  }
  fit.quality = read_fit_quality(mapping);
  mapping.finish();
  return fit;
}

void read_gemm_table(ProfileFile& file, const Node& section, GpuSpec& gpu) {
  Mapping fits(section);
  for (const auto& [precision, peak] : gpu.peak_flops) {
    if (const std::optional<Node> node = fits.find(name_of(precision))) {
      gpu.gemm.insert_or_assign(precision, read_gemm_fit(file, *node));
    }
  }
  fits.finish();
  const bool sixteen_bit = gpu.peak_flops.contains(Precision::fp16) || gpu.peak_flops.contains(Precision::bf16);
  if (sixteen_bit && !gpu.gemm.contains(Precision::fp16) && !gpu.gemm.contains(Precision::bf16)) {
    section.fail("expected a fit for fp16 or bf16, or `gemm_like`");
  }
  if (gpu.gemm.empty()) section.fail("expected a fit for fp32, or `gemm_like`");
}

// Returns how many times the power for its peak a GPU has that another GPU has.
double power_for_peak(const GpuSpec& gpu, const GpuSpec& other, Precision precision) {
  const double power = gpu.tdp_w.value / other.tdp_w.value;
  return power / (gpu.peak_flops.at(precision).value / other.peak_flops.at(precision).value);
}

// Multiplies the share of the peak in the inner loop. No share exceeds the peak.
void raise_efficiency(GemmFit& fit, const Figure& share) {
  constexpr std::size_t index = 1;
  static_assert(kGemmConstants[index].name == "efficiency");
  fit.constants.efficiency = std::min(1.0, fit.constants.efficiency * share.value);
  fit.sources[index] += fmt::format("; times {:g}: {}", share.value, share.source);
}

// Takes over the GEMM fits of another GPU. Shares of the peak carry over, times gemm_like_share where the file states
// it. The rate at which the power limit sets in carries over in FLOP per joule: it grows with the limit, and as a share
// of the peak it falls with the peak.
void borrow_gemm_fits(ProfileFile& file, const Node& name, const GpuSpec& other, GpuSpec& gpu) {
  std::optional<Figure> share;
  if (file.root().has("gemm_like_share")) share = file.figure("gemm_like_share", 0.1, 3);
  for (const auto& [precision, measured] : other.gemm) {
    if (!gpu.peak_flops.contains(precision)) continue;
    GemmFit fit = measured;
    if (fit.quality.measurements == 0) continue;
    for (std::string& source : fit.sources) {
      if (!source.empty()) source = fmt::format("taken over from {} ({}): {}", other.name, other.architecture, source);
    }
    fit.constants.power_threshold *= power_for_peak(gpu, other, precision);
    if (share) raise_efficiency(fit, *share);
    fit.quality = {};
    gpu.gemm.emplace(precision, std::move(fit));
  }
  if (gpu.gemm.empty()) name.fail(fmt::format("{} has no fit for a precision of this GPU", other.name));
}

// Reads the attention kernels. A GPU without figures of its own takes them over with the GEMM fits.
void read_attention(ProfileFile& file, const GpuSpec* other, GpuSpec& gpu) {
  if (const std::optional<Node> node = file.root().find("attention")) {
    if (!gpu.peak_flops.contains(Precision::fp16))
      node->fail("attention is computed in 16 bits: `peak_flops` has no fp16");
    gpu.attention = read_attention_fits(file, *node, gpu.peak_flops);
  } else if (other != nullptr) {
    gpu.attention = other->attention;
  }
}

void read_memory_kernels(ProfileFile& file, const GpuSpec* other, GpuSpec& gpu) {
  if (other != nullptr && !file.root().has("memory_kernels")) {
    gpu.memory_kernels = other->memory_kernels;
    return;
  }
  Mapping mapping(file.root().require("memory_kernels"));
  gpu.memory_kernels.normalization = file.figure(mapping, "normalization", 0.1, 1);
  gpu.memory_kernels.softmax = file.figure(mapping, "softmax", 0.1, 1);
  gpu.memory_kernels.reduction = file.figure(mapping, "reduction", 0.1, 1);
  gpu.memory_kernels.gather = file.figure(mapping, "gather", 0.1, 1);
  gpu.memory_kernels.cached_speedup = file.figure(mapping, "cached_speedup", 1, 20);
  const auto latency = [&](const char* name) {
    return mapping.has(name) ? file.figure(mapping, name, 0, 1e-3) : Figure{0, "part of the launch"};
  };
  gpu.memory_kernels.streaming_latency_s = latency("streaming_latency_s");
  gpu.memory_kernels.normalization_latency_s = latency("normalization_latency_s");
  gpu.memory_kernels.softmax_latency_s = latency("softmax_latency_s");
  gpu.memory_kernels.reduction_latency_s = latency("reduction_latency_s");
  gpu.memory_kernels.gather_latency_s = latency("gather_latency_s");
  if (mapping.has("measurements")) read_fit_quality(mapping);
  mapping.finish();
}

// Reads long_run_power. Figures that the file leaves out are those of the GPU whose fits are taken over.
void read_long_run_power(ProfileFile& file, const GpuSpec* other, GpuSpec& gpu) {
  if (other != nullptr) gpu.long_run_power = other->long_run_power;
  const std::optional<Node> section = file.root().find("long_run_power");
  if (!section) return;
  Mapping mapping(*section);
  for (const auto& [precision, peak] : gpu.peak_flops) {
    if (mapping.find(name_of(precision))) {
      gpu.long_run_power.insert_or_assign(precision, file.figure(mapping, name_of(precision), 0.1, 2));
    }
  }
  if (mapping.has("measurements")) read_fit_quality(mapping);
  mapping.finish();
}

void read_block_scaled_rate(ProfileFile& file, const GpuSpec* other, GpuSpec& gpu) {
  if (file.root().has("block_scaled_rate")) {
    gpu.block_scaled_rate = file.figure("block_scaled_rate", 0.1, 1);
  } else if (other != nullptr) {
    gpu.block_scaled_rate = other->block_scaled_rate;
  }
}

// Reads the formats whose scales the tensor cores apply. A file without them has none: the products of another GPU say
// nothing about the instructions of this one.
void read_scaled_formats(ProfileFile& file, GpuSpec& gpu) {
  const std::optional<Node> section = file.root().find("scaled_formats");
  if (!section) return;
  std::vector<std::string> names = precision_recipe_names();
  std::erase_if(names, [](const std::string& name) { return !find_precision_recipe(name)->scaled_in_groups(); });
  Mapping mapping(*section);
  for (const Node& node : mapping.require("names").as_items()) {
    const std::string& name = names[node.as_choice(names)];
    const std::string& products = find_precision_recipe(name)->products;
    if (!gpu.peak_flops.contains(precision_named(products))) {
      node.fail(fmt::format("`peak_flops` has no {}, in which products of {} run", products, name));
    }
    gpu.scaled_formats.insert(name);
  }
  const Node source = mapping.require("source");
  if (source.as_string().empty()) source.fail("expected what says that the GPU has these formats");
  mapping.finish();
}

// Reads the share of the clock that long runs hold. A GPU without one takes over the other's, whose clock rises by the
// law of clocks (kPowerExponent) where this GPU has more power for its peak. Less power is the business of the power
// thresholds, which are scaled as they are taken over, and does not count twice.
void read_sustained_share(ProfileFile& file, const GpuSpec* other, GpuSpec& gpu) {
  if (other == nullptr || file.root().has("sustained_share")) {
    gpu.sustained_share = file.figure("sustained_share", 0.3, 1);
    return;
  }
  Figure& share = gpu.sustained_share = other->sustained_share;
  const auto common = std::find_if(other->gemm.begin(), other->gemm.end(),
                                   [&](const auto& fit) { return gpu.peak_flops.contains(fit.first); });
  const double room = power_for_peak(gpu, *other, common->first);
  if (room <= 1 || share.value == 1) return;
  share.source = fmt::format("{:g} of {}, which has 1/{:.3g} of the power for its peak: {}", share.value, other->name,
                             room, share.source);
  share.value = std::min(1.0, share.value * std::pow(room, 1 / kPowerExponent));
}

// Reads clock_power. Static power and the fall of voltage with the clock are similar on all GPUs, so a GPU without
// measurements takes over the A100's.
void read_clock_power(ProfileFile& file, const GpuSpec* other, GpuSpec& gpu) {
  if (const std::optional<Node> section = file.root().find("clock_power")) {
    Mapping mapping(*section);
    gpu.clock_power.static_share = file.figure(mapping, "static_share", 0, 1);
    gpu.clock_power.exponent = file.figure(mapping, "exponent", 1, 10);
    if (mapping.has("measurements")) read_fit_quality(mapping);
    mapping.finish();
  } else if (other != nullptr) {
    gpu.clock_power = other->clock_power;
  } else {
    const std::string source = "no measurement of this GPU: taken over from a100-80g";
    gpu.clock_power = {{0.35, source}, {4.6, source}};
  }
}

void check_order(const Node& node, const Figure& low, const Figure& high, const char* what) {
  if (low.value > high.value) node.fail(fmt::format("{}: {:g} is above {:g}", what, low.value, high.value));
}

}  // namespace

GpuSpec read_gpu_profile(ProfileFile& file, const std::function<GpuSpec(const Node& name)>& gemm_like) {
  file.require_all({"title", "architecture", "multiprocessors", "peak_flops", "memory_bytes", "memory_bandwidth",
                    "memory_bandwidth_efficiency", "l2_bytes", "tdp_w", "idle_w", "blocked_w", "clock_peak_hz",
                    "clock_max_hz", "clock_min_hz", "clock_step_hz", "kernel_launch_s", "gemm|gemm_like"});
  GpuSpec gpu;
  gpu.name = file.name();
  gpu.title = file.title();
  gpu.architecture = file.root().require("architecture").as_string();
  gpu.target = file.root().string_or("compile_target", "");
  gpu.multiprocessors = static_cast<int>(file.root().require("multiprocessors").as_integer(1, 100'000));
  read_peaks(file, gpu);
  read_scaled_formats(file, gpu);
  gpu.memory_bytes = file.figure("memory_bytes", 1e9, 1e13);
  gpu.memory_bandwidth = file.figure("memory_bandwidth", 1e9, 1e14);
  gpu.memory_bandwidth_efficiency = file.figure("memory_bandwidth_efficiency", 0.1, 1);
  gpu.l2_bytes = file.figure("l2_bytes", 1e5, 1e10);
  gpu.tdp_w = file.figure("tdp_w", 10, 1e4);
  gpu.idle_w = file.figure("idle_w", 1, 1e4);
  gpu.blocked_w = file.figure("blocked_w", 1, 1e4);
  gpu.clock_peak_hz = file.figure("clock_peak_hz", 1e8, 1e10);
  gpu.clock_max_hz = file.figure("clock_max_hz", 1e8, 1e10);
  gpu.clock_min_hz = file.figure("clock_min_hz", 1e7, 1e10);
  gpu.clock_step_hz = file.figure("clock_step_hz", 1e5, 1e9);
  gpu.kernel_launch_s = file.figure("kernel_launch_s", 0, 100 * kMicrosecond);

  const Node& root = file.root().node();
  check_order(root, gpu.idle_w, gpu.blocked_w, "idle_w and blocked_w");
  check_order(root, gpu.blocked_w, gpu.tdp_w, "blocked_w and tdp_w");
  check_order(root, gpu.clock_min_hz, gpu.clock_peak_hz, "clock_min_hz and clock_peak_hz");
  check_order(root, gpu.clock_peak_hz, gpu.clock_max_hz, "clock_peak_hz and clock_max_hz");

  const std::optional<Node> table = file.root().find("gemm");
  const std::optional<Node> like = file.root().find("gemm_like");
  std::optional<GpuSpec> other;
  if (like || !table) {
    const Node name = like ? *like : file.root().require("gemm_like");
    other = gemm_like(name);
    borrow_gemm_fits(file, name, *other, gpu);
    gpu.like = other->name;
    gpu.like_architecture = other->architecture;
    gpu.like_quality = other->gemm.rbegin()->second.quality;
    for (const auto& [precision, fit] : other->gemm) {
      if (precision <= Precision::bf16) gpu.like_quality = fit.quality;
    }
    if (file.root().has("gemm_like_error")) gpu.like_error = file.figure("gemm_like_error", 0, 10);
  }
  if (table) read_gemm_table(file, *table, gpu);
  read_memory_kernels(file, other ? &*other : nullptr, gpu);
  read_attention(file, other ? &*other : nullptr, gpu);
  read_long_run_power(file, other ? &*other : nullptr, gpu);
  read_block_scaled_rate(file, other ? &*other : nullptr, gpu);
  read_sustained_share(file, other ? &*other : nullptr, gpu);
  read_clock_power(file, other ? &*other : nullptr, gpu);
  file.finish();
  return gpu;
}

}  // namespace mirfak
