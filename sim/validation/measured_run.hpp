#pragma once

#include "base/csv.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// One measured training iteration as a table of runs states it (columns: README.md of this folder). Words are kept as
// written; a number that the table leaves out is absent.
struct MeasuredRun {
  Location where;    // of the row
  std::string tier;  // A: complete, B: something inferred, C: something missing; empty: not graded
  std::string kind;  // dense, moe, lora, sft, encoder; empty: dense
  std::string source;
  std::string model;
  std::string head_dim;  // a number, or words for latent attention
  std::string gpu;
  std::string interconnect;
  std::string precision;
  std::string recompute;
  std::string sequence_parallel;
  std::string zero_stage;
  std::string flags;
  std::string notes;

  std::optional<std::int64_t> layers, hidden, ffn, heads, kv_heads, vocab, sequence_length, experts, top_k;
  std::optional<std::int64_t> gpus, gpus_per_node;
  std::optional<std::int64_t> tensor, pipeline, data, context, expert, virtual_pipeline;
  std::optional<std::int64_t> micro_batch, global_batch;
  std::optional<std::int64_t> dense_layers, prediction_layers;  // mixtures of experts

  std::optional<double> seconds;          // measured, of one iteration
  std::optional<double> allocated_bytes;  // peak of the framework's allocator on the fullest GPU: without contexts
  bool out_of_memory = false;             // it did not fit: nothing else was measured
};

// The rows of a table. Columns may stand in any order; one that is absent is empty in every row, others are
// ignored. Error(input) at a field that should be a positive number and is not, and at a table without the columns
// gpu, n_gpus and one of s_per_iter_derived or (metric, value).
std::vector<MeasuredRun> read_measured_runs(const CsvTable& table);

}  // namespace mirfak
