// A product is cut into tiles, each computed by one multiprocessor from start to end. Tiles run in waves of as many as
// there are multiprocessors; a last wave that is not full takes as long as a full one. On an A100 (108
// multiprocessors), 2048 x 2048 makes 128 tiles of 256 x 128, two waves, of which the second is mostly idle: 51 % of
// the peak are measured, and 2048 x 7168 (448 tiles, 4.1 waves) does not reach 80 %. A long inner dimension can be
// split: 4 x 128 tiles of a quarter of the length fill 4.7 waves of 5, at the price of adding up partial sums, and
// indeed the same 2048 x 2048 product reaches 83 % from k = 10240 on. On Hopper and Blackwell the libraries have so
// many tile shapes that little of this effect is left: `quantisation` is the share that remains.
//
// A tile's inner loop starts slowly and its result must be written before the next tile begins: a fixed time per tile.
// Therefore efficiency falls with short inner dimensions as 1/eff = a + b/k.
#include "cost/gemm_model.hpp"

#include "cost/power_limit.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kLargestTile = 256.0 * 128.0;
constexpr double kShortestSplit = 128;  // along the inner dimension
constexpr int kSplits[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};

double share_of(const GemmConstants& constants, int area) {
  switch (area) {
    case 128 * 128:
      return constants.share_128x128;
    case 128 * 64:
      return constants.share_128x64;
    case 64 * 64:
      return constants.share_64x64;
    default:
      return 1;
  }
}

}  // namespace

GemmModel::GemmModel(const GpuSpec& gpu, Precision precision)
    : GemmModel(gpu, precision, gpu.gemm_fit(precision).constants) {}

GemmModel::GemmModel(const GpuSpec& gpu, Precision precision, const GemmConstants& constants, double share_of_peak)
    : constants_(constants),
      peak_(gpu.peak_flops.at(precision).value * share_of_peak),
      multiprocessors_(gpu.multiprocessors),
      bandwidth_(gpu.memory_bandwidth.value),
      cache_bytes_(gpu.l2_bytes.value),
      element_bytes_(bytes_per_element(precision)),
      long_run_power_(gpu.long_run_share(precision)) {
  constexpr int kSizes[kTiles][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}};
  for (int i = 0; i < kTiles; ++i) {
    const auto [rows, columns] = kSizes[i];
    const int area = rows * columns;
    Tile& tile = tiles_[i];
    tile.rows = rows;
    tile.columns = columns;
    tile.seconds_per_k = 2.0 * area * multiprocessors_ / (peak_ * constants.efficiency * share_of(constants, area));
    tile.fixed_s = constants.tile_overhead_s + constants.tile_write_s * area / kLargestTile;
    tile.handicap = area < kLargestTile ? 1 + constants.preference : 1;
    tile.may_split = area >= 128 * 128;
  }
}

GemmTiling GemmModel::best_tiling(const GemmShape& shape) const {
  const double q = constants_.quantisation;
  GemmTiling best;
  double least = HUGE_VAL;
  for (const Tile& tile : tiles_) {
    const double rounds =
        shape.batch * std::ceil(shape.m / tile.rows) * std::ceil(shape.n / tile.columns) / multiprocessors_;
    const auto consider = [&](int splits, double extra_s) {
      const double full = splits * rounds;
      const double waves = std::max(1.0, q * std::ceil(full) + (1 - q) * full);
      const double seconds = waves * (shape.k / splits * tile.seconds_per_k + tile.fixed_s) + extra_s;
      if (seconds * tile.handicap >= least) return;
      least = seconds * tile.handicap;
      best = {tile.rows, tile.columns, splits, waves, seconds};
    };
    consider(1, 0);
    if (!tile.may_split) continue;
    for (const int splits : kSplits) {
      if (shape.k < splits * kShortestSplit) break;
      const double sums = 8 * shape.batch * shape.m * shape.n * splits;  // written and read in 32 bits
      const double extra_s = constants_.split_overhead_s + sums / (bandwidth_ * constants_.split_bandwidth);
      if (extra_s * tile.handicap >= least) break;
      consider(splits, extra_s);
    }
  }
  return best;
}

double GemmModel::bytes(const GemmShape& shape) const {
  return shape.batch *
         (element_bytes_ * (shape.m * shape.k + shape.k * shape.n) + std::max(element_bytes_, 2.0) * shape.m * shape.n);
}

// Returns the seconds to move the matrices of a product that is repeated; in training, other kernels run in between.
double GemmModel::repeated_memory_seconds(double bytes) const {
  const double fill = bytes / (constants_.cache_share * cache_bytes_);
  const double kept = 1 / (1 + fill * fill * fill * fill);
  return bytes / (bandwidth_ * constants_.memory_efficiency) * (1 - kept * (1 - 1 / constants_.cache_speed));
}

GemmTime GemmModel::price(const GemmShape& shape, double memory_s) const {
  GemmTime out;
  out.overhead_s = constants_.overhead_s;
  out.tiling = best_tiling(shape);
  out.memory_s = memory_s;
  // This is (a^p + b^p)^(1/p) with the larger number factored out: fewer and smaller powers.
  const double larger = std::max(out.tiling.seconds, out.memory_s);
  const double ratio = std::min(out.tiling.seconds, out.memory_s) / larger;
  const double p = constants_.exponent;
  out.busy_s = larger * std::pow(1 + std::pow(ratio, p), 1 / p);
  return out;
}

GemmTime GemmModel::time(const GemmShape& shape, double bytes, double clock) const {
  GemmTime out = price(shape, bytes / (bandwidth_ * constants_.memory_efficiency));
  const PowerLimit limit{constants_.power_threshold * long_run_power_};
  out.draw = std::max(kMemoryBoundDraw, limit.draw(shape.flop() / (peak_ * out.busy_s)));
  out.clock_share = clock;
  out.seconds = out.overhead_s + out.busy_s / clock;
  return out;
}

double GemmModel::table_clock(double busy_s, double flop) const {
  const PowerLimit limit{constants_.power_threshold};
  const double settled = 1 - std::exp(-busy_s / constants_.settling_s);
  return 1 / (1 + (1 / limit.clock_share(utilisation(busy_s, flop)) - 1) * settled);
}

GemmTime GemmModel::table_time(const GemmShape& shape) const {
  GemmTime out = price(shape, repeated_memory_seconds(bytes(shape)));
  out.draw = PowerLimit{constants_.power_threshold}.draw(utilisation(out.busy_s, shape.flop()));
  out.clock_share = table_clock(out.busy_s, shape.flop());
  out.seconds = out.overhead_s + out.busy_s / out.clock_share;
  return out;
}

double GemmModel::busy_of_table(double seconds, double flop) const {
  const double longest = seconds - constants_.overhead_s;
  if (longest <= 0) return 0;
  double low = 0;
  double high = longest;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (middle / table_clock(middle, flop) < longest ? low : high) = middle;
  }
  return high;
}

double GemmModel::cast_seconds(const GemmShape& shape) const {
  if (constants_.cast_overhead_s == 0) return 0;
  const double bytes = shape.batch * shape.m * shape.k * (2 + element_bytes_);
  return constants_.cast_overhead_s + bytes / (bandwidth_ * constants_.cast_efficiency);
}

}  // namespace mirfak
