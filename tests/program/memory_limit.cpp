// The usable part of a memory, against hand calculations; and the probability of fitting, which has to agree with it.

#include "program/memory_limit.hpp"

#include "base/random.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace memory_limit_test {

using namespace mirfak;

namespace {

constexpr double kCapacity = 80e9;
constexpr double kPlatform = 2e9;
constexpr DeviceMemoryWidths kWidths{0.05, 0.1, 1e9, 4e9};

}  // namespace

TEST_CASE("without a probability the headroom alone limits") {
  MemoryLimit limit;
  CHECK(limit.of_device(kCapacity, kPlatform) == kCapacity);
  CHECK(limit.of_host(kCapacity) == kCapacity);
  limit.headroom = 0.25;
  CHECK(limit.of_device(kCapacity, kPlatform) == 60e9);
  CHECK(limit.of_host(kCapacity) == 60e9);
  for (const double probability : {0.0, 0.9}) {
    const MemoryLimit none = limit_of_probability({}, probability);
    CHECK(none.of_device(kCapacity, kPlatform) == kCapacity);
  }
  CHECK(limit_of_probability(kWidths, 0).of_device(kCapacity, kPlatform) == kCapacity);
}

TEST_CASE("with a probability of 90 % the job also fits with the errors that the widths have") {
  const MemoryLimit limit = limit_of_probability(kWidths, 0.9);
  CHECK(limit.factor == doctest::Approx(std::exp(0.1)));
  CHECK(limit.spare_bytes == doctest::Approx(4e9));
  // 2 GB of platform, and 74 GB for what may be e^0.1 times as large.
  CHECK(limit.of_device(kCapacity, kPlatform) == doctest::Approx(2e9 + 74e9 / std::exp(0.1)));
  CHECK(limit.of_host(kCapacity) == kCapacity);
  CHECK(fit_probability(kWidths, limit.of_device(kCapacity, kPlatform), kPlatform, kCapacity) == doctest::Approx(0.9));
  MemoryLimit both = limit;
  both.headroom = 0.5;
  CHECK(both.of_device(kCapacity, kPlatform) == 40e9);
}

TEST_CASE("a job that is predicted to fill the memory fits as often as not; 1 of 10 fits although it is larger") {
  CHECK(fit_probability(kWidths, kCapacity, kPlatform, kCapacity) == doctest::Approx(0.5));
  // 2 - 1 GB of platform, and 79 GB for what may be e^-0.05 times as large.
  CHECK(fit_probability(kWidths, 2e9 + 79e9 * std::exp(0.05), kPlatform, kCapacity) == doctest::Approx(0.1));
  CHECK(fit_probability(kWidths, 10e9, kPlatform, kCapacity) > 1 - 1e-12);
  CHECK(fit_probability(kWidths, 200e9, kPlatform, kCapacity) < 1e-12);
  CHECK(fit_probability(kWidths, kPlatform, kPlatform, kCapacity) > 1 - 1e-12);
}

TEST_CASE("what fits with a probability is what the limit of this probability lets through, and less as needs grow") {
  for (std::uint32_t sample = 0; sample < 2000; ++sample) {
    std::uint64_t drawn = 0;
    const auto between = [&](double least, double most) {
      return least + (most - least) * uniform({7, sample, 0, drawn++});
    };
    const DeviceMemoryWidths widths{between(1e-3, 0.3), between(1e-3, 0.3), between(0, 3e9), between(0, 6e9)};
    const double platform = between(0, 4e9);
    const double capacity = between(16e9, 300e9);
    const double probability = between(0.5, 0.999);
    const double usable = limit_of_probability(widths, probability).of_device(capacity, platform);
    REQUIRE(usable > platform);
    CHECK(fit_probability(widths, usable, platform, capacity) == doctest::Approx(probability).epsilon(1e-6));
    CHECK(fit_probability(widths, usable * 1.001, platform, capacity) < probability);
    CHECK(fit_probability(widths, usable * 0.999, platform, capacity) > probability);
    // A larger platform never makes room for more of the rest.
    const double larger = platform + between(0, 1e9);
    CHECK(limit_of_probability(widths, probability).of_device(capacity, larger) - larger <= usable - platform);
  }
}

}  // namespace memory_limit_test
