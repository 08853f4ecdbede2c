#include "calibration/calibration.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(MIRFAK_SOURCE_DIR "/hw_profiles");
  return catalog;
}

CalibrationTarget target() { return {catalog(), "a100-80g", {}, Precision::bf16, {}, {}, false}; }

// Products of a GPU that takes 10 us and reaches 200 TFLOP/s, whatever the shape.
std::string gemm_table() {
  std::string out = "gpu,m,n,k,latency_us\n";
  for (const int m : {256, 1024, 2048, 4096, 8192}) {
    for (const int n : {1024, 2048, 3072, 4096, 8192, 12288}) {
      for (const int k : {2048, 4096, 8192}) {
        out += fmt::format("A,{},{},{},{}\n", m, n, k, 10 + 2.0 * m * n * k / 200e6);
        out += fmt::format("B,{},{},{},{}\n", m, n, k, 1000 + 2.0 * m * n * k / 20e6);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a table that nobody recognises is refused with the headers that are known") {
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text("a,b\n1,2\n", "odd.csv")}, target()),
                       doctest::Contains("latency_us"), Error);
}

TEST_CASE("a table of products without a GPU is refused") {
  CalibrationTarget nobody = target();
  nobody.gpu.clear();
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text(gemm_table(), "t.csv")}, nobody), doctest::Contains("--gpu"),
                       Error);
}

TEST_CASE("rows that are filtered out have no part in the fit") {
  CalibrationTarget only_a = target();
  only_a.filters = {{"gpu", "A"}};
  const std::vector<FittedSection> sections = calibrate({CsvTable::from_text(gemm_table(), "t.csv")}, only_a);
  REQUIRE(sections.size() == 1);
  const FitScore& score = sections[0].scores.front();
  CHECK(score.fitted.count + score.held_out.count == 5 * 6 * 3);
  CHECK(score.held_out.median_ape < 0.1);
}

TEST_CASE("a field that is no size is named with its place") {
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text("m,n,k,latency_us\n1,2,x,4\n", "t.csv")}, target()),
                       doctest::Contains("t.csv:2:5"), Error);
}
