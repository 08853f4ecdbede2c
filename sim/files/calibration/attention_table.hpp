#pragma once

#include "calibration/table_kind.hpp"
#include "cost/attention_model.hpp"

#include <array>

namespace mirfak {

// Columns of tables of fused attention calls in 16 bits: sweeps of TensorRT-LLM's context kernels (causal and forward,
// within an inference server), or kernels that were timed by themselves, forward and backward, as mirfak-measure writes
// them.
inline constexpr std::string_view kAttentionColumns = "batch,seq,heads,kv_heads,head_dim,latency_us";

inline constexpr double kAttentionTokens = 1024;  // least tokens of a call of training size

inline constexpr std::array<int, 3> kTileRows = {64, 128, 256};  // numbers of rows that are tried
inline constexpr double kOutlier = 0.03;                         // see fit_parameters

bool is_attention_table(const CsvTable& table);

struct MeasuredAttention {
  AttentionShape shape;
  double seconds = 0;
  bool backward = false;
};

// Returns the rows of training size (at least 1024 tokens) that `target` selects, in their order: smaller calls are
// bound by launches and by the choice of kernels for inference. Rows are causal unless the column `causal` is 0. They
// are forward calls unless the column `pass` is "backward"; without that column, the rows of a file named
// attention_backward.csv are backward calls.
std::vector<MeasuredAttention> read_attention_table(const CsvTable& table, const CalibrationTarget& target);

// Fits section attention.<target.attention> of a GPU: for trtllm the forward constants, together with the work that its
// sweeps time in addition to the kernel (AttentionModel::table_seconds); for other kernels the constants of
// fit_attention_calls.
std::vector<FittedSection> fit_attention_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
