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

// How a product is spread over the multiprocessors.
struct GemmTiling {
  int rows = 0;  // of a tile
  int columns = 0;
  int splits = 1;      // parts of the inner dimension, added up at the end
  double waves = 0;    // rounds of tiles: what the quantised part of the model counts
  double seconds = 0;  // of all of it, at the full clock
};

// What the time of a product consists of: seconds = overhead_s + busy_s / clock_share.
struct GemmTime {
  double seconds = 0;
  GemmTiling tiling;
  double memory_s = 0;  // of moving the matrices
  double busy_s = 0;    // compute and memory together, at the full clock
  double draw = 0;      // of power, of the limit, at the full clock
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
// with the tiling that takes least, smaller and split ones handicapped by `preference`: libraries choose them by rules.
// The tables behind the constants are of row-major by transposed operands; other layouts are taken to cost the same,
// and so are batches: their tiles share the waves.
class GemmModel {
 public:
  GemmModel(const GpuSpec& gpu, Precision precision);  // with the fit that the GPU has for it
  // `share_of_peak`: where vector units keep the tensor cores waiting, both draw power (GpuSpec::block_scaled_rate).
  GemmModel(const GpuSpec& gpu, Precision precision, const GemmConstants& constants, double share_of_peak = 1);

  // Among other kernels, at a clock share of `clock`, as long runs draw (GpuSpec::long_run_power). `bytes`: all
  // matrices, each once.
  GemmTime time(const GemmShape& shape, double bytes, double clock = 1) const;
  // As a row of a measured table: one product again and again, a few times. The cache keeps what the run before left
  // there, and the clock begins to settle where the power limit lets a device that does nothing else.
  GemmTime table_time(const GemmShape& shape) const;
  // The busy time at the full clock of a product that takes `seconds` as table_time() says: what is left without the
  // fall of the clock and the overhead; 0 where that is all.
  double busy_of_table(double seconds, double flop) const;
  double utilisation(double busy_s, double flop) const { return flop / (peak_ * busy_s); }
  // Both factors in the precision, the result in 16 bits or wider.
  double bytes(const GemmShape& shape) const;
  // Of quantising the first factor from 16 bits, as the tables of narrow precisions do before each product; 0 for
  // others.
  double cast_seconds(const GemmShape& shape) const;

  const GemmConstants& constants() const { return constants_; }

 private:
  struct Tile {
    int rows = 0;
    int columns = 0;
    double seconds_per_k = 0;  // of the inner loop, a tile on a multiprocessor
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
