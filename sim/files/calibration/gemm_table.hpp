#pragma once

#include "calibration/table_kind.hpp"
#include "cost/gemm_model.hpp"

#include <vector>

namespace mirfak {

// Columns of tables of matrix products [m, k] x [k, n]. Recognised headers: m, n, k and latency_us, time_ms or tflops;
// or NeuSight's B, M, N, K and Latency in ms, of linear layers, whose N is the inner dimension and K the width of the
// result.
inline constexpr std::string_view kGemmColumns = "m,n,k,latency_us or m,n,k,time_ms or m,n,k,tflops or B,M,N,K,Latency";

bool is_gemm_table(const CsvTable& table);

struct MeasuredGemm {
  GemmShape shape;
  double seconds = 0;
};

// Returns the rows that `target` selects, in their order. The target's GPU computes in its precision. Error(input) at
// the field of a fault, such as a time that the GPU cannot reach.
std::vector<MeasuredGemm> read_gemm_table(const CsvTable& table, const CalibrationTarget& target);

// Fits section gemm.<precision> of a GPU: the constants of GemmModel, or, if the target asks for scores only, the
// errors of the profile's constants. Precision: the target's, else bf16. Tables of fewer than 2000 rows determine the
// ten constants that matter most, tables of fewer than 500 rows five; the other constants keep the profile's values, or
// the usual values if the profile has none. In precisions of 8 bits and less, the fitted time includes the time of
// quantising the first factor (GemmModel::cast_seconds).
std::vector<FittedSection> fit_gemm_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
