// One layer of a mixture of experts by itself on 8 H100, forward and backward, as Megatron-LM's own benchmark measured
// it: what the device does for experts, apart from attention, hosts and the rest of a job.

#include "base/csv.hpp"
#include "base/document.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

namespace mixture_layers_test {

using namespace mirfak;

namespace {

// A job whose only layer has the row's experts; the rest of the job stands beside what is measured.
std::string scenario_of(const CsvTable& table, std::size_t row) {
  const auto text = [&](const char* column) { return std::string(table.text(row, table.require(column))); };
  const bool grouped = text("router").find("groups") != std::string::npos;
  const bool narrow = text("dtype").starts_with("fp8");
  const std::string dispatcher = text("dispatcher");
  return fmt::format(
      "model: {{family: deepseek, layers: 1, hidden: {0}, heads: 32, head_dim: 128, ffn: {1}, vocab: 32000,\n"
      "  max_sequence: {2}, activation: swiglu, normalization: rms_norm, position: rotary, linear_bias: false,\n"
      "  tied_embeddings: false, dropout: 0,\n"
      "  latent_attention: {{query_rank: 1536, key_value_rank: 512, position_dim: 64, value_dim: 128}},\n"
      "  experts: {{count: {3}, per_token: {4}, ffn: {1}, first_dense: 0{5}}}}}\n"
      "cluster: {{nodes: [{{type: hgx-h100, count: 1, gpus: 8}}]}}\n"
      "training: {{sequence_length: {2}, global_batch: 8, precision: {6}, framework: megatron-core}}\n"
      "strategy: {{tensor: 1, pipeline: 1, data: 8, expert: 8, micro_batch: 1, recompute: none, zero: 1,\n"
      "  expert_dispatcher: {7}}}\n",
      text("hidden"), text("moe_ffn"), text("seq_len"), text("n_experts"), text("top_k"),
      grouped ? ", groups: 8, groups_per_token: 4" : "", narrow ? "fp8-block" : "bf16",
      dispatcher == "a2a" ? "alltoall" : dispatcher);
}

// The job on GPUs that the power limit leaves alone: the benchmark times passes of milliseconds with pauses between
// them, where training of hours holds less than the full clock. Its table states no clock; the passes in bf16 ask for
// this one, and those in fp8-block are judged at it.
Job at_full_clock(Job job) {
  NodeAllotment nodes = job.cluster.groups().front();
  nodes.hardware.gpu.long_run_power.clear();
  nodes.hardware.gpu.sustained_share.value = 1;
  for (auto& [precision, fit] : nodes.hardware.gpu.gemm) fit.constants.power_threshold = 10;
  job.cluster = Cluster({std::move(nodes)}, job.cluster.fabric());
  return job;
}

struct Passes {
  double forward_s = 0;
  double backward_s = 0;
};

bool of_experts(const std::string& name) {
  return name.find("expert") != std::string::npos || name.find("_rows") != std::string::npos;
}

bool of_backward(const std::string& name) {
  return name.starts_with("d_") || name.find(" d_") != std::string::npos || name.find("_d_") != std::string::npos;
}

// Returns the time that the device of the first rank spends on the experts of its layer: kernels and exchanges, one
// after the other.
Passes of_mixture(const Program& program) {
  Passes passes;
  for (TaskId task = 0; task < program.size(); ++task) {
    const Stream& stream = program.streams[program.stream[task]];
    if (stream.rank != 0 || (stream.kind != StreamKind::compute && stream.kind != StreamKind::expert)) continue;
    const std::string& name = program.class_of(task).name;
    if (!of_experts(name)) continue;
    (of_backward(name) ? passes.backward_s : passes.forward_s) += static_cast<double>(program.duration[task]) * 1e-12;
  }
  return passes;
}

}  // namespace

TEST_CASE("a layer of experts alone on 8 H100 takes what its kernels and exchanges are priced at, within 6.5 %") {
  const std::filesystem::path root = source_root();
  const std::filesystem::path file = root.parent_path() / "shared" / "megatron-goldens" / "moe_layer.csv";
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: " << file.string() << " is not here");
    return;
  }
  const CsvTable table = CsvTable::from_file(file);
  double sum = 0;
  int count = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name(table.text(row, table.require("name")));
    const Scenario scenario =
        parse_scenario(Document::from_text(scenario_of(table, row), name), {root / "models", root / "hw_profiles"});
    const Passes predicted = of_mixture(simulate(at_full_clock(scenario.job), {.operators = true}).program);
    const auto check = [&](const char* pass, double predicted_s) {
      const double measured_s = table.number(row, table.require(std::string(pass) + "_ms"), 0.1, 1e3) * 1e-3;
      CAPTURE(name);
      CAPTURE(pass);
      const double error = std::abs(predicted_s / measured_s - 1);
      CHECK(error < 0.18);
      sum += error;
      ++count;
    };
    check("forward", predicted.forward_s);
    check("backward", predicted.backward_s);
  }
  CHECK(count >= 18);
  CHECK(sum / count <= 0.065);
}

}  // namespace mixture_layers_test
