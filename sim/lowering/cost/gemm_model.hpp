#pragma once

#include "cluster/hardware.hpp"

namespace mirfak {

// One GEMM (or `batch` equal ones in one kernel): batch x [m, k] x [k, n].
struct GemmShape {
  double batch = 1;
  double m = 0;
  double n = 0;
  double k = 0;

  double flop() const { return 2 * batch * m * n * k; }
};

// Distribution of a product over the multiprocessors.
struct GemmTiling {
  int rows = 0;  // rows of a tile; `columns`: columns of a tile
  int columns = 0;
  int splits = 1;      // parts of the inner dimension, added up at the end
  double waves = 0;    // rounds of tiles, as the quantised part of the model counts them
  double seconds = 0;  // seconds for the whole product, at the full clock
};

// Parts of the time of a product: seconds = overhead_s + busy_s / clock_share.
struct GemmTime {
  double seconds = 0;
  GemmTiling tiling;
  double memory_s = 0;  // seconds to move the matrices
  double busy_s = 0;    // compute and memory together, at the full clock
  double draw = 0;      // power draw as a share of the limit, at the full clock
  double clock_share = 1;
  double overhead_s = 0;
};

// Time of matrix products on one GPU in one precision. A value. Sources and derivation: README.md of this room.
//
//   tiles     T = batch ceil(m/a) ceil(n/b), for a x b of 256x128, 128x128, 128x64, 64x64 and their turned forms
//   waves     W = max(1, q ceil(zT/S) + (1 - q) zT/S), S multiprocessors, z splits of the inner dimension
//   tiling    W (2ab ceil(k/z) / (e_ab peak/S) + tile_overhead + tile_write ab/(256 128)),
//             where split (z > 1) plus split_overhead + 8mnz / (bandwidth split_bandwidth)
//   memory    bytes / (bandwidth e_m)
//   t         overhead + (tiling^p + memory^p)^(1/p) / c, c the clock share
//
// The model takes the fastest tiling, after a handicap by `preference` for smaller and split tiles: libraries choose
// tiles by rules. The constants are fitted to products of row-major by transposed operands; other layouts are taken to
// cost the same, and so are batches, whose tiles share the waves.
class GemmModel {
 public:
  GemmModel(const GpuSpec& gpu, Precision precision);  // with the GPU's fit for the precision
  // `share_of_peak`: share of the peak that is left if tensor cores wait for vector units; both draw power
  // (GpuSpec::block_scaled_rate).
  GemmModel(const GpuSpec& gpu, Precision precision, const GemmConstants& constants, double share_of_peak = 1);

  // Time of a product among other kernels, at a clock share of `clock`, with the power draw of long runs
  // (GpuSpec::long_run_power). `bytes`: size of all matrices, each counted once.
  GemmTime time(const GemmShape& shape, double bytes, double clock = 1) const;
  // Time in a row of a measured table: one product repeated a few times. The cache keeps data of the previous run, and
  // the clock begins to settle to the share that the power limit allows a device that runs nothing else.
  GemmTime table_time(const GemmShape& shape) const;
  // Inverse of table_time(): returns the busy time at the full clock of a product that takes `seconds` in a table,
  // without the overhead and the fall of the clock; 0 if the overhead takes all of it.
  double busy_of_table(double seconds, double flop) const;
  double utilisation(double busy_s, double flop) const { return flop / (peak_ * busy_s); }
  // Bytes of the matrices: both factors in the precision, the result in 16 bits or wider.
  double bytes(const GemmShape& shape) const;
  // Seconds to quantize the first factor from 16 bits, as the tables of narrow precisions do before each product; 0 for
  // other precisions.
  double cast_seconds(const GemmShape& shape) const;

  const GemmConstants& constants() const { return constants_; }

 private:
  struct Tile {
    int rows = 0;
    int columns = 0;
    double seconds_per_k = 0;  // inner loop of a tile on a multiprocessor
    double fixed_s = 0;
    double handicap = 1;
    bool may_split = false;
  };
  GemmTiling best_tiling(const GemmShape& shape) const;
  GemmTime price(const GemmShape& shape, double memory_s) const;
  double repeated_memory_seconds(double bytes) const;
  double table_clock(double busy_s, double flop) const;

  static constexpr int kTiles = 6;
  GemmConstants constants_;
  Tile tiles_[kTiles];
  double peak_ = 0;
  double multiprocessors_ = 1;
  double bandwidth_ = 0;
  double cache_bytes_ = 0;
  double element_bytes_ = 2;
  double long_run_power_ = 1;
};

}  // namespace mirfak
