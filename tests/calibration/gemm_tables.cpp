// The profiles against the tables that they were fitted to, by the code of `mirfak calibrate`: the third of the shapes
// that was held out, or all of a table that no constant was fitted to. The tables are not part of the
// project: without them beside the source tree these cases only say so.
#include "calibration/calibration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace gemm_tables_test {

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(source_root() + "/hw_profiles");
  return catalog;
}

// Scores of the profile's constants, or none where the table is not there.
std::vector<FitScore> scores(const std::string& table, const std::string& gpu, Precision precision,
                             const std::vector<RowFilter>& filters = {}) {
  const std::filesystem::path path = source_root() + "/../shared/hardware/kernels/" + table;
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no ../shared/hardware/kernels/", table);
    return {};
  }
  const CalibrationTarget target{catalog(), gpu, {}, precision, filters, {}, true};
  return calibrate({CsvTable::from_file(path)}, target).front().scores;
}

struct Expected {
  std::string table;
  std::string gpu;
  Precision precision;
  double median;  // of products with 1024 rows and more, and inner and outer width of 512 and more
  double p90;
};

}  // namespace

TEST_CASE("errors on the held-out shapes") {
  for (const Expected& expected : {
           Expected{"gemm_a100_sxm_bfloat16.csv", "a100-80g", Precision::bf16, 0.017, 0.06},
           Expected{"gemm_h100_sxm_bfloat16.csv", "h100", Precision::bf16, 0.036, 0.097},
           Expected{"gemm_h200_sxm_bfloat16.csv", "h200", Precision::bf16, 0.034, 0.094},
           Expected{"gemm_b200_sxm_bfloat16.csv", "b200", Precision::bf16, 0.054, 0.13},
           Expected{"gemm_gb200_bfloat16.csv", "gb200", Precision::bf16, 0.052, 0.13},
           Expected{"gemm_rtx_pro_6000_server_bfloat16.csv", "rtx-pro-6000", Precision::bf16, 0.025, 0.08},
           Expected{"gemm_h100_sxm_fp8.csv", "h100", Precision::fp8, 0.034, 0.097},
           Expected{"gemm_h200_sxm_fp8.csv", "h200", Precision::fp8, 0.034, 0.097},
           Expected{"gemm_b200_sxm_fp8.csv", "b200", Precision::fp8, 0.041, 0.097},
           Expected{"gemm_gb200_fp8.csv", "gb200", Precision::fp8, 0.041, 0.097},
           Expected{"gemm_b200_sxm_nvfp4.csv", "b200", Precision::fp4, 0.025, 0.09},
           Expected{"gemm_gb200_nvfp4.csv", "gb200", Precision::fp4, 0.025, 0.095},
       }) {
    CAPTURE(expected.table);
    const std::vector<FitScore> found = scores(expected.table, expected.gpu, expected.precision);
    if (found.empty()) continue;
    const ErrorStatistics& errors = found[1].held_out;
    CHECK(errors.count > 100);
    CHECK(errors.median_ape < expected.median);
    CHECK(errors.p90_ape < expected.p90);
  }
}

}  // namespace gemm_tables_test
