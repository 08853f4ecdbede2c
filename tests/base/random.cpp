// Numbers of counters: the published vectors, and what they are used for.

#include "base/random.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace mirfak;

TEST_CASE("Philox 4x32-10 gives the known answers of its authors") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers fill the interval evenly, whichever part of the counter moves") {
  constexpr int count = 100'000;
  for (const int moving : {0, 1, 2, 3}) {
    double sum = 0;
    double squares = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const double u =
          uniform({moving == 0 ? i : 1U, moving == 1 ? i : 1U, moving == 2 ? i : 1U, moving == 3 ? i : 1U});
      CHECK_UNARY(u > 0 && u < 1);
      sum += u;
      squares += u * u;
    }
    CHECK(sum / count == doctest::Approx(0.5).epsilon(0.01));
    CHECK(squares / count == doctest::Approx(1.0 / 3).epsilon(0.01));
  }
}

TEST_CASE("quantiles of the normal distribution") {
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-14));
  CHECK(normal_quantile(0.001) == doctest::Approx(-3.090232306167813).epsilon(1e-13));
  CHECK(std::isfinite(normal_quantile(0x1p-54)));
}
