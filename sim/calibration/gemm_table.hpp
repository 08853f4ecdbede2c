#pragma once

#include "calibration/table_kind.hpp"
#include "cost/kernel_model.hpp"

namespace mirfak {

// Tables of matrix products. One line per accepted header: the project or program whose tables look so.
inline constexpr std::string_view kGemmColumns = "m,n,k,latency_us or m,n,k,time_ms or m,n,k,tflops or B,M,N,K,Latency";

bool is_gemm_table(const CsvTable& table);

// One measured product; rows x columns x contracted, as many of them as `shape.batch`.
struct MeasuredGemm {
  GemmShape shape;
  double seconds = 0;
};

// The rows that `target` selects, in their order. Error(input) at the field of a fault.
std::vector<MeasuredGemm> read_gemm_table(const CsvTable& table, const CalibrationTarget& target);

// Section gemm.<precision> of a GPU.
std::vector<FittedSection> fit_gemm_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
