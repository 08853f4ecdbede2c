#include "launch/launch_arguments.hpp"
#include "launch_files.hpp"
#include "round_trip.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <random>

using namespace mirfak;

namespace {

// A drawn strategy on four nodes: not every draw can run, or be run by Megatron-LM.
std::string megatron_job(std::mt19937& random) {
  const bool mixture = random() % 4 == 0;
  const std::string framework = drawn(random, {"megatron-core", "megatron-core", "megatron-fsdp"});
  std::string out = fmt::format("model: {}\n", mixture ? "mixtral-8x7b" : drawn(random, {"gpt3-13b", "llama3-8b"}));
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out +=
      fmt::format("training: {{global_batch: 256, sequence_length: 2048, framework: {}, precision: {}}}\nstrategy:\n",
                  framework, drawn(random, {"bf16", "fp16", "fp8-delayed", "mxfp8"}));
  const int tensor = drawn(random, {1, 2, 4});
  const int pipeline = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  tensor: {}\n  pipeline: {}\n  micro_batch: {}\n", tensor, pipeline, drawn(random, {1, 2, 4}));
  if (tensor > 1 && random() % 2 == 0) out += "  sequence_parallel: true\n";
  if (pipeline > 1 && random() % 2 == 0) out += fmt::format("  virtual_pipeline: {}\n", drawn(random, {2, 4, 5}));
  if (random() % 4 == 0)
    out += fmt::format("  context: 2\n  context_communication: {}\n", drawn(random, {"p2p", "a2a", "all-gather"}));
  if (mixture && random() % 2 == 0) {
    out += fmt::format("  expert: {}\n  expert_tensor: {}\n", drawn(random, {2, 4, 8}), drawn(random, {"1", "tensor"}));
    out += fmt::format("  expert_dispatcher: {}\n", drawn(random, {"alltoall", "allgather", "deepep"}));
  }
  out += fmt::format("  zero: {}\n", framework == "megatron-fsdp" ? drawn(random, {2, 3}) : drawn(random, {0, 1}));
  if (random() % 2 == 0) out += "  overlap_grad_reduce: true\n";
  if (random() % 4 == 0) out += "  overlap_param_gather: true\n";
  out += fmt::format(
      "  recompute: {}\n",
      drawn(random, {"none", "full", "selective", "selective\n  recompute_modules: [core_attn, mlp]",
                     "full\n  recompute_method: uniform\n  recompute_layers: 2", "full\n  recompute_layers: 3"}));
  return out;
}

std::optional<std::string> megatron_text(const std::string& job, std::optional<Scenario>& scenario) {
  try {
    scenario = parse_scenario(Document::from_text(job, "drawn.yaml"), import_sources());
    return launch_arguments(scenario->job, LaunchTarget::megatron);
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::internal);
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("what is written for Megatron-LM is read back as the same strategy") {
  std::mt19937 random(22);
  int compared = 0;
  for (int i = 0; i < 6000 && compared < 200; ++i) {
    std::optional<Scenario> before;
    const std::optional<std::string> text = megatron_text(megatron_job(random), before);
    if (!text) continue;
    CAPTURE(*text);
    CAPTURE(before->resolved);
    ImportContext context{import_sources()};
    context.gpus = 32;
    const std::vector<ImportFile> files = {{"launch.txt", *text}};
    const ImportDraft draft = import_format("megatron-arguments").read(files, context);
    check_same_strategy(before->job, scenario_of(draft, "hgx-h100", 4).job);
    ++compared;
  }
  CHECK(compared == 200);
}
