#pragma once

#include "calibration/table_kind.hpp"
#include "cost/attention_model.hpp"

namespace mirfak {

// Sweeps of causal attention in 16 bits, forward, as TensorRT-LLM's context kernels run it.
inline constexpr std::string_view kAttentionColumns = "batch,seq,heads,kv_heads,head_dim,latency_us";

bool is_attention_table(const CsvTable& table);

struct MeasuredAttention {
  AttentionShape shape;
  double seconds = 0;
};

// The rows of training size (at least 1024 tokens) that `target` selects, in their order: smaller ones are bound by
// launches and by the choice of kernels for inference.
std::vector<MeasuredAttention> read_attention_table(const CsvTable& table, const CalibrationTarget& target);

// Section attention.trtllm of a GPU: its forward constants (AttentionModel::table_seconds).
std::vector<FittedSection> fit_attention_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
