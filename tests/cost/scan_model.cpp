#include "cost/scan_model.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace mirfak;

namespace {

double flop(const std::vector<ScanKernel>& kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0,
                         [](double sum, const ScanKernel& kernel) { return sum + kernel.product.flop(); });
}

// A layer of Mamba-2 2.7B: 80 heads of 64, a state of 128, one group, chunks of 256.
constexpr ScanShape kLayer{
    .batch = 2, .tokens = 2048, .chunk = 256, .groups = 1, .heads = 80, .width = 64, .state = 128};

}  // namespace

TEST_CASE("a scan multiplies scores, states and results of each chunk") {
  // 2 b s (Q g N + h Q P + 2 h N P)
  const double per_token = 2 * (256.0 * 128 + 80 * 256 * 64 + 2 * 80 * 128 * 64);
  CHECK(flop(scan_kernels(kLayer, 2, false)) == 2 * 2048 * per_token);
  // Backward: two products for each, scores and states once more.
  const double again = 2 * (256.0 * 128 + 80 * 128 * 64);
  CHECK(flop(scan_kernels(kLayer, 2, true)) == 2 * 2048 * (2 * per_token + again));
}

TEST_CASE("shorter chunks multiply less and move more states") {
  ScanShape shorter = kLayer;
  shorter.chunk = 64;
  for (const bool backward : {false, true}) {
    const auto bytes_of_passes = [&](const ScanShape& shape) {
      double bytes = 0;
      for (const ScanKernel& kernel : scan_kernels(shape, 2, backward)) {
        if (kernel.product.flop() == 0) bytes += kernel.bytes;
      }
      return bytes;
    };
    CHECK(flop(scan_kernels(shorter, 2, backward)) < flop(scan_kernels(kLayer, 2, backward)));
    CHECK(bytes_of_passes(shorter) > bytes_of_passes(kLayer));
  }
}

TEST_CASE("heads on several devices divide a scan, but what all of them read") {
  ScanShape half = kLayer;
  half.heads /= 2;
  const double scores = 2 * 2 * 2048 * 256.0 * 128;  // of the one group, on both devices
  CHECK(2 * flop(scan_kernels(half, 2, false)) == flop(scan_kernels(kLayer, 2, false)) + scores);
}
