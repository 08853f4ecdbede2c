#pragma once

#include "cluster/fit_quality.hpp"

#include <array>
#include <string>
#include <string_view>

namespace mirfak {

// Constants of GemmModel (cost/gemm_model.hpp explains each of them) for one GPU in one precision.
struct GemmConstants {
  double overhead_s = 0;     // fixed time of a product of any size
  double efficiency = 1;     // share of the peak in the inner loop of a 256 x 128 tile
  double share_128x128 = 1;  // share of `efficiency` in smaller tiles
  double share_128x64 = 1;
  double share_64x64 = 1;
  double tile_overhead_s = 0;    // fixed time of a tile of any size: filling the pipeline
  double tile_write_s = 0;       // time to write a 256 x 128 tile; for other tiles in proportion to their area
  double quantisation = 1;       // 1: waves of tiles are whole; 0: the last, partial wave costs only its share
  double preference = 0;         // relative gain that smaller or split tiles need to be chosen
  double split_overhead_s = 0;   // time to divide the inner dimension among multiprocessors
  double split_bandwidth = 1;    // bandwidth of partial sums, as a share of memory_bandwidth
  double memory_efficiency = 1;  // share of memory_bandwidth that a product bound by memory reaches
  double cache_speed = 1;        // speedup of the second-level cache over memory
  double cache_share = 0.5;      // share of the second-level cache that keeps matrices from one run to the next
  double exponent = 10;          // exponent of the norm that joins compute and memory time
  double power_threshold = 1;    // share of the peak above which the power limit lowers the clock
  double settling_s = 1;         // length of kernels in the table during which the clock was still falling
  double cast_overhead_s = 0;    // time to quantize the first operand, if the table's times include quantization
  double cast_efficiency = 1;    // share of memory_bandwidth that quantization reaches

  friend bool operator==(const GemmConstants&, const GemmConstants&) = default;
};

// Constant of GemmConstants: its key in a profile, its range, and the start value of a fit.
struct GemmConstantKey {
  std::string_view name;
  double GemmConstants::*value;
  double minimum;
  double start;
  double maximum;
  bool of_casts = false;  // only in tables of quantized products; 0 and 1 elsewhere
};
inline constexpr std::array<GemmConstantKey, 19> kGemmConstants = {{
    {"overhead_s", &GemmConstants::overhead_s, 1e-6, 2.5e-6, 20e-6},
    {"efficiency", &GemmConstants::efficiency, 0.2, 0.88, 1},
    {"share_128x128", &GemmConstants::share_128x128, 0.3, 0.93, 1},
    {"share_128x64", &GemmConstants::share_128x64, 0.2, 0.8, 1},
    {"share_64x64", &GemmConstants::share_64x64, 0.1, 0.7, 1},
    {"tile_overhead_s", &GemmConstants::tile_overhead_s, 0, 0.5e-6, 10e-6},
    {"tile_write_s", &GemmConstants::tile_write_s, 0, 1.5e-6, 10e-6},
    {"quantisation", &GemmConstants::quantisation, 0, 0.5, 1},
    {"preference", &GemmConstants::preference, 0, 0, 0.5},
    {"split_overhead_s", &GemmConstants::split_overhead_s, 0, 1e-6, 10e-6},
    {"split_bandwidth", &GemmConstants::split_bandwidth, 0.1, 1.5, 5},
    {"memory_efficiency", &GemmConstants::memory_efficiency, 0.5, 0.83, 1.2},
    {"cache_speed", &GemmConstants::cache_speed, 1, 1.5, 8},
    {"cache_share", &GemmConstants::cache_share, 0.1, 0.6, 2},
    {"exponent", &GemmConstants::exponent, 1, 3, 10},
    {"power_threshold", &GemmConstants::power_threshold, 0.1, 0.68, 10},
    {"settling_s", &GemmConstants::settling_s, 1e-3, 3e-3, 10e-3},
    {"cast_overhead_s", &GemmConstants::cast_overhead_s, 0, 8e-6, 20e-6, true},
    {"cast_efficiency", &GemmConstants::cast_efficiency, 0.05, 0.4, 3, true},
}};

// Constants with their sources.
struct GemmFit {
  GemmConstants constants;
  std::array<std::string, kGemmConstants.size()> sources;  // ordered as kGemmConstants; sources of casts may be empty
  FitQuality quality;                                      // quality for products of 1024 rows and more

  friend bool operator==(const GemmFit&, const GemmFit&) = default;
};

}  // namespace mirfak
