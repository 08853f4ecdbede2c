#include "cost/gemm_model.hpp"

#include "cost/power_limit.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace mirfak;

namespace {

Figure figure(double value) { return {value, "test"}; }

// 64 multiprocessors, 64 TFLOP/s, so 1 TFLOP/s each; 1 TB/s; nothing but the inner loop costs anything.
GpuSpec gpu() {
  GpuSpec spec;
  spec.name = spec.title = "test GPU";
  spec.multiprocessors = 64;
  spec.peak_flops = {
      {Precision::fp32, figure(10e12)}, {Precision::bf16, figure(64e12)}, {Precision::fp8, figure(128e12)}};
  spec.memory_bandwidth = figure(1e12);
  spec.l2_bytes = figure(40e6);
  return spec;
}

// Large tiles only, whole waves.
GemmConstants plain() {
  GemmConstants constants;
  constants.share_128x128 = constants.share_128x64 = constants.share_64x64 = 0.01;
  constants.split_overhead_s = 1;
  constants.power_threshold = 10;
  return constants;
}

GemmTime time_of(const GemmConstants& constants, const GemmShape& shape, double clock = 1) {
  const GpuSpec spec = gpu();
  const GemmModel model(spec, Precision::bf16, constants);
  return model.time(shape, model.bytes(shape), clock);
}

GemmTime table_time_of(const GemmConstants& constants, const GemmShape& shape) {
  const GpuSpec spec = gpu();
  return GemmModel(spec, Precision::bf16, constants).table_time(shape);
}

// Constants as fitted to an A100, rounded.
GemmConstants realistic() {
  GemmConstants c;
  c.overhead_s = 2.5e-6;
  c.efficiency = 0.95;
  c.share_128x128 = 0.9;
  c.share_128x64 = 0.8;
  c.share_64x64 = 0.7;
  c.tile_overhead_s = 0.5e-6;
  c.tile_write_s = 3e-6;
  c.quantisation = 1;
  c.preference = 0.2;
  c.split_bandwidth = 1.5;
  c.memory_efficiency = 0.82;
  c.cache_speed = 1.2;
  c.exponent = 3.5;
  c.power_threshold = 0.72;
  c.settling_s = 2e-3;
  return c;
}

const double kSizes[] = {1, 64, 100, 128, 129, 1000, 1024, 2048, 4096, 5120, 16384};

}  // namespace

TEST_CASE("a whole wave of tiles: the work of one multiprocessor") {
  // 2048 x 1024 is 8 x 8 = 64 tiles of 256 x 128, one for each; each is 2 x 256 x 128 x 4096 = 268.4 MFLOP at 1
  // TFLOP/s.
  const GemmTime time = time_of(plain(), {1, 2048, 1024, 4096});
  CHECK(time.tiling.rows * time.tiling.columns == 256 * 128);
  CHECK(time.tiling.waves == 1);
  CHECK(time.tiling.seconds == doctest::Approx(268.435456e-6).epsilon(1e-12));
}

TEST_CASE("one row more begins a second wave, at full price") {
  // 2304 x 1024 and 2049 x 1024 are 9 x 8 = 72 tiles (or 17 or 18 x 4 = 68 or 72 turned): more than 64.
  CHECK(time_of(plain(), {1, 2049, 1024, 4096}).tiling.waves == 2);
  CHECK(time_of(plain(), {1, 2304, 1024, 4096}).tiling.waves == 2);
  GemmConstants half = plain();
  half.quantisation = 0.5;  // 72 / 64 = 1.125 waves: (2 + 1.125) / 2, turned 68 / 64: (2 + 1.0625) / 2
  CHECK(time_of(half, {1, 2304, 1024, 4096}).tiling.waves == doctest::Approx(1.5625));
  CHECK(time_of(half, {1, 2049, 1024, 4096}).tiling.waves == doctest::Approx(1.53125));
}

TEST_CASE("a batch shares its waves") {
  // 64 products of one tile each are one wave.
  CHECK(time_of(plain(), {64, 256, 128, 4096}).tiling.seconds == time_of(plain(), {1, 256, 128, 4096}).tiling.seconds);
}

TEST_CASE("a tile's fixed time makes short inner dimensions less efficient") {
  GemmConstants constants = plain();
  constants.tile_overhead_s = 3e-6;
  constants.tile_write_s = 2e-6;
  // 65.536 ns per step of k: k = 64 takes 4.194 us, and 5 us of it every time.
  CHECK(time_of(constants, {1, 2048, 1024, 64}).tiling.seconds == doctest::Approx(9.194304e-6).epsilon(1e-9));
}

TEST_CASE("few tiles and a long inner dimension are split") {
  GemmConstants constants = plain();
  constants.split_overhead_s = 2e-6;
  // One tile, k = 65536: 4.29 ms on one multiprocessor. In 32 parts 134.2 us + 2 us + 8 x 32768 x 32 B at 1 TB/s = 8.4
  // us.
  const GemmTime time = time_of(constants, {1, 256, 128, 65536});
  CHECK(time.tiling.splits == 32);
  CHECK(time.tiling.seconds == doctest::Approx(134.217728e-6 + 2e-6 + 8.388608e-6).epsilon(1e-9));
  CHECK(time_of(constants, {1, 256, 128, 128}).tiling.splits == 1);
}

TEST_CASE("smaller tiles are chosen only where they gain more than their handicap") {
  GemmConstants constants = plain();
  constants.share_128x128 = 0.9;
  // 96 tiles of 256 x 128 are 2 waves, 192 of 128 x 128 are 3 waves of half the work: 1.5 / 0.9 = 1.67 against 2.
  CHECK(time_of(constants, {1, 3072, 1024, 4096}).tiling.rows == 128);
  constants.preference = 0.25;  // 1.67 x 1.25 = 2.08
  CHECK(time_of(constants, {1, 3072, 1024, 4096}).tiling.rows != 128);
}

TEST_CASE("what is bound by memory takes the time of its bytes") {
  const GpuSpec spec = gpu();
  GemmConstants constants = plain();
  constants.memory_efficiency = 0.8;
  const GemmModel model(spec, Precision::bf16, constants);
  CHECK(model.bytes({1, 16384, 64, 64}) == 2.0 * (16384 * 64 + 64 * 64 + 16384 * 64));
  CHECK(model.time({1, 64, 64, 64}, 1e9).seconds == doctest::Approx(1.25e-3).epsilon(1e-6));
}

TEST_CASE("the cache helps repeated runs, not training") {
  GemmConstants constants = realistic();
  constants.cache_speed = 4;
  const GemmShape shape{1, 4096, 64, 1024};
  CHECK(table_time_of(constants, shape).memory_s < time_of(constants, shape).memory_s);
}

TEST_CASE("the power limit lowers the clock of busy kernels only") {
  const PowerLimit limit{0.7};
  CHECK(limit.clock_share(0.5) == 1);
  CHECK(limit.clock_share(0.7) == 1);
  CHECK(limit.clock_share(0.9) == doctest::Approx(std::pow(0.7 / 0.9, 1 / kPowerExponent)));
  CHECK(limit.clock_share(0.9) * 0.9 > 0.7);  // slower, but no slower than at the threshold
}

TEST_CASE("a kernel that runs alone settles where the table's long kernels do") {
  GemmConstants constants = realistic();
  constants.cache_speed = 1;
  const GemmShape large{1, 65536, 65536, 16384};
  const GemmTime time = time_of(constants, large);
  REQUIRE(time.draw > 1);
  PowerMix alone;
  alone.add_clocked(time.busy_s, time.draw);
  CHECK(table_time_of(constants, large).clock_share == doctest::Approx(alone.clock_share()).epsilon(1e-6));
  CHECK(table_time_of(constants, large).seconds ==
        doctest::Approx(time_of(constants, large, alone.clock_share()).seconds).epsilon(1e-6));
  // The clock has not come down yet in a short kernel.
  CHECK(table_time_of(constants, {1, 4096, 4096, 4096}).clock_share > alone.clock_share());
}

TEST_CASE("what keeps the tensor cores waiting draws power in their place") {
  const GpuSpec spec = gpu();
  const GemmShape shape{1, 2048, 1024, 4096};
  const GemmModel whole(spec, Precision::fp8, plain());
  const GemmModel held(spec, Precision::fp8, plain(), 0.8);
  const GemmTime plain_time = whole.time(shape, 0);
  const GemmTime held_time = held.time(shape, 0);
  CHECK(held_time.tiling.seconds == doctest::Approx(plain_time.tiling.seconds / 0.8).epsilon(1e-12));
  CHECK(held_time.draw == doctest::Approx(plain_time.draw).epsilon(1e-12));
}

TEST_CASE("what waits for memory leaves power to what computes") {
  PowerMix mix;
  mix.add_clocked(1, 1.2);
  const double alone = mix.clock_share();
  CHECK(alone == doctest::Approx(std::pow(1 / 1.2, 1 / kPowerExponent)).epsilon(1e-6));
  mix.add_other(0.2, 0.5);
  CHECK(mix.clock_share() > alone);
  CHECK(mix.clock_share() < 1);
  // 1.2 + 0.5 x 0.4 = 1.4 of energy in 1.4 of time.
  mix.add_other(0.2, 0.5);
  CHECK(mix.clock_share() == 1);
}

TEST_CASE("a lower clock stretches the product, not its launch") {
  const GemmTime full = time_of(realistic(), {1, 4096, 4096, 4096});
  const GemmTime slower = time_of(realistic(), {1, 4096, 4096, 4096}, 0.8);
  CHECK(slower.seconds - slower.overhead_s == doctest::Approx((full.seconds - full.overhead_s) / 0.8));
}

TEST_CASE("never faster than the peak or the memory, and never faster for being larger in every dimension") {
  const GpuSpec spec = gpu();
  const GemmModel model(spec, Precision::bf16, realistic());
  for (const double m : kSizes) {
    for (const double n : kSizes) {
      for (const double k : kSizes) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        const GemmShape shape{1, m, n, k};
        const double seconds = model.time(shape, model.bytes(shape)).seconds;
        CHECK(seconds >= shape.flop() / 64e12);
        CHECK(seconds >= model.bytes(shape) / 1e12);
        CHECK(model.time({1, n, m, k}, model.bytes({1, n, m, k})).seconds == doctest::Approx(seconds).epsilon(1e-12));
        const GemmShape larger{1, 2 * m, 2 * n, 2 * k};
        CHECK(model.time(larger, model.bytes(larger)).seconds >= seconds);
        const GemmShape twice{2, m, n, k};
        CHECK(model.time(twice, model.bytes(twice)).seconds >= seconds * (1 - 1e-12));
      }
    }
  }
}

TEST_CASE("casts are in proportion to the first factor, and only where the tables hold them") {
  const GpuSpec spec = gpu();
  GemmConstants constants = plain();
  CHECK(GemmModel(spec, Precision::fp8, constants).cast_seconds({1, 1000, 1, 1000}) == 0);
  constants.cast_overhead_s = 8e-6;
  constants.cast_efficiency = 0.5;
  // 10^6 elements, 2 bytes read and 1 written, at half of 1 TB/s: 6 us.
  CHECK(GemmModel(spec, Precision::fp8, constants).cast_seconds({1, 1000, 77, 1000}) == doctest::Approx(14e-6));
}
