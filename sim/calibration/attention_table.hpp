#pragma once

#include "calibration/table_kind.hpp"
#include "cost/attention_model.hpp"

#include <array>

namespace mirfak {

// Calls of fused attention in 16 bits: sweeps of TensorRT-LLM's context kernels (causal and forward, within an
// inference server), or kernels that were timed by themselves, forward and backward, as mirfak-measure writes them.
inline constexpr std::string_view kAttentionColumns = "batch,seq,heads,kv_heads,head_dim,latency_us";

inline constexpr double kAttentionTokens = 1024;  // of a call of training size, at least

inline constexpr std::array<int, 3> kTileRows = {64, 128, 256};  // that are tried
inline constexpr double kOutlier = 0.03;                         // see fit_parameters

bool is_attention_table(const CsvTable& table);

struct MeasuredAttention {
  AttentionShape shape;
  double seconds = 0;
  bool backward = false;
};

// The rows of training size (at least 1024 tokens) that `target` selects, in their order: smaller ones are bound by
// launches and by the choice of kernels for inference. They are causal where no column `causal` says 0, and forward
// calls where no column `pass` says "backward"; without one, those of a file named attention_backward.csv are backward.
std::vector<MeasuredAttention> read_attention_table(const CsvTable& table, const CalibrationTarget& target);

// Section attention.<target.attention> of a GPU: of trtllm the forward constants, with what its sweeps time beside the
// kernel (AttentionModel::table_seconds); of others those of fit_attention_calls.
std::vector<FittedSection> fit_attention_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
