#include "validation/measured_run.hpp"

#include <string_view>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kOutOfMemory = "out of memory";
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr double kMostSeconds = 1e7;

using Count = std::optional<std::int64_t> MeasuredRun::*;
using Words = std::string MeasuredRun::*;

constexpr std::pair<const char*, Words> kWords[] = {
    {"tier", &MeasuredRun::tier},
    {"kind", &MeasuredRun::kind},
    {"source", &MeasuredRun::source},
    {"model", &MeasuredRun::model},
    {"head_dim", &MeasuredRun::head_dim},
    {"gpu", &MeasuredRun::gpu},
    {"interconnect", &MeasuredRun::interconnect},
    {"dtype", &MeasuredRun::precision},
    {"recompute", &MeasuredRun::recompute},
    {"sequence_parallel", &MeasuredRun::sequence_parallel},
    {"zero_stage", &MeasuredRun::zero_stage},
    {"flags", &MeasuredRun::flags},
    {"notes", &MeasuredRun::notes},
};

constexpr std::pair<const char*, Count> kCounts[] = {
    {"n_layers", &MeasuredRun::layers},
    {"hidden", &MeasuredRun::hidden},
    {"ffn_hidden", &MeasuredRun::ffn},
    {"n_heads", &MeasuredRun::heads},
    {"n_kv_heads", &MeasuredRun::kv_heads},
    {"vocab", &MeasuredRun::vocab},
    {"seq_len", &MeasuredRun::sequence_length},
    {"n_experts", &MeasuredRun::experts},
    {"top_k", &MeasuredRun::top_k},
    {"n_gpus", &MeasuredRun::gpus},
    {"gpus_per_node", &MeasuredRun::gpus_per_node},
    {"tp", &MeasuredRun::tensor},
    {"pp", &MeasuredRun::pipeline},
    {"dp", &MeasuredRun::data},
    {"cp", &MeasuredRun::context},
    {"ep", &MeasuredRun::expert},
    {"vpp", &MeasuredRun::virtual_pipeline},
    {"micro_batch", &MeasuredRun::micro_batch},
    {"global_batch", &MeasuredRun::global_batch},
};

// Seconds per iteration are stated as such, or follow from a throughput.
std::optional<double> measured_seconds(const CsvTable& table, std::size_t row, const MeasuredRun& run) {
  const auto derived = table.find("s_per_iter_derived");
  if (derived && !table.empty(row, *derived)) return table.number(row, *derived, 1e-9, kMostSeconds);
  const auto metric = table.find("metric");
  const auto value = table.find("value");
  if (!metric || !value || table.empty(row, *value)) return std::nullopt;
  const std::string& kind = table.text(row, *metric);
  if (kind == "s_per_iter") return table.number(row, *value, 1e-9, kMostSeconds);
  if (kind != "tokens_per_s_per_gpu" || !run.global_batch || !run.sequence_length || !run.gpus) return std::nullopt;
  const double tokens = static_cast<double>(*run.global_batch) * static_cast<double>(*run.sequence_length);
  return tokens / (table.number(row, *value, 1e-9, 1e15) * static_cast<double>(*run.gpus));
}

MeasuredRun read_run(const CsvTable& table, std::size_t row) {
  MeasuredRun run;
  run.where = table.where(row, 0);
  for (const auto& [name, member] : kWords) {
    if (const auto column = table.find(name)) run.*member = table.text(row, *column);
  }
  for (const auto& [name, member] : kCounts) {
    const auto column = table.find(name);
    if (column && !table.empty(row, *column)) run.*member = table.integer(row, *column, 1, kMost);
  }
  run.seconds = measured_seconds(table, row, run);
  for (const auto& [name, member] : {std::pair("dense_layers", &MeasuredRun::dense_layers),
                                     std::pair("prediction_layers", &MeasuredRun::prediction_layers)}) {
    const auto column = table.find(name);
    if (column && !table.empty(row, *column)) run.*member = table.integer(row, *column, 0, kMost);
  }
  if (const auto column = table.find("outcome")) run.out_of_memory = table.text(row, *column) == kOutOfMemory;
  const auto allocated = table.find("memory_allocated_gib");
  if (allocated && !table.empty(row, *allocated)) {
    run.allocated_bytes = table.number(row, *allocated, 1e-3, 1e5) * 1073741824.0;
  }
  return run;
}

}  // namespace

std::vector<MeasuredRun> read_measured_runs(const CsvTable& table) {
  table.require("gpu");
  table.require("n_gpus");
  if (!table.find("s_per_iter_derived")) {
    table.require("metric");
    table.require("value");
  }
  std::vector<MeasuredRun> runs;
  for (std::size_t row = 0; row < table.rows(); ++row) runs.push_back(read_run(table, row));
  return runs;
}

}  // namespace mirfak
