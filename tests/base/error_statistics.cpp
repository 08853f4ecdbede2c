#include "base/error_statistics.hpp"

#include "base/averages.hpp"
#include "base/fnv_hash.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace mirfak;

TEST_CASE("errors are shares of the measured value") {
  // 10 % fast, 20 % slow, 30 % slow, exact: absolute errors 0, 0.1, 0.2, 0.3.
  const std::vector<PredictedPair> pairs = {{0.9, 1}, {2.4, 2}, {3.9, 3}, {4, 4}};
  const ErrorStatistics errors = error_statistics(pairs);
  CHECK(errors.count == 4);
  CHECK(errors.mape == doctest::Approx(0.15));
  CHECK(errors.median_ape == doctest::Approx(0.15));  // between 0.1 and 0.2
  CHECK(errors.p90_ape == doctest::Approx(0.27));     // 0.7 of the way from the third (0.2) to the fourth (0.3)
  CHECK(errors.mean_error == doctest::Approx(0.10));
}

TEST_CASE("rank correlation sees order alone") {
  CHECK(rank_correlation(std::vector<PredictedPair>{{1, 10}, {2, 200}, {5, 3000}}) == doctest::Approx(1));
  CHECK(rank_correlation(std::vector<PredictedPair>{{3, 10}, {2, 20}, {1, 30}}) == doctest::Approx(-1));
  // Ranks 1 2 3 against 1 3 2: 1 - 6 * (0 + 1 + 1) / (3 * 8) = 0.5.
  CHECK(rank_correlation(std::vector<PredictedPair>{{1, 1}, {2, 3}, {3, 2}}) == doctest::Approx(0.5));
}

TEST_CASE("equal values share their mean rank") {
  // Ranks 0 1.5 1.5 3 against 0 1 2 3: covariance 4.5, squares 4.5 and 5.
  const std::vector<PredictedPair> pairs = {{1, 1}, {2, 2}, {2, 3}, {3, 4}};
  CHECK(rank_correlation(pairs) == doctest::Approx(4.5 / std::sqrt(4.5 * 5)));
}

TEST_CASE("nothing, and everything equal, have no correlation") {
  CHECK(error_statistics({}).count == 0);
  CHECK(error_statistics({}).mape == 0);
  CHECK(rank_correlation(std::vector<PredictedPair>{{1, 2}, {1, 2}}) == 0);
}

TEST_CASE("averages of a few values") {
  const std::vector<double> values = {4, 1, 3, 10};
  CHECK(mean(values) == 4.5);
  CHECK(middle(values) == 4);    // the upper of 3 and 4
  CHECK(median(values) == 3.5);  // between them
  CHECK(median({7, 1, 2}) == 2);
  const std::vector<double> sorted = {1, 3, 4, 10};
  CHECK(interpolated_quantile(sorted, 0) == 1);
  CHECK(interpolated_quantile(sorted, 0.5) == 3.5);
  CHECK(interpolated_quantile(sorted, 0.9) == doctest::Approx(8.2));  // 0.7 of the way from 4 to 10
  CHECK(interpolated_quantile(sorted, 1) == 10);
}

TEST_CASE("FNV-1a of known texts") {
  CHECK(fnv_hash(kFnvStart, "") == 0xcbf29ce484222325);
  CHECK(fnv_hash(kFnvStart, "a") == 0xaf63dc4c8601ec8c);  // the authors' test vectors
  CHECK(fnv_hash(kFnvStart, "foobar") == 0x85944171f73967e8);
  CHECK(fnv_hash(kFnvStart, 0x6261, 2) == fnv_hash(kFnvStart, "ab"));
}
