#include "random_scenarios.hpp"

#include "base/error.hpp"
#include "cluster/catalog.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::test {

namespace {

// Distributions of the standard library differ between its implementations, the engine does not.
template <typename T>
const T& one_of(const std::vector<T>& choices, std::mt19937& random) {
  return choices[random() % choices.size()];
}

bool coin(std::mt19937& random) { return random() % 2 == 0; }

}  // namespace

const std::vector<GpuOnNode>& all_gpus() {
  static const std::vector<GpuOnNode> gpus = [] {
    const Catalog catalog(source_root() + "/hw_profiles");
    std::vector<GpuOnNode> out;
    for (const std::string& node : catalog.names(ProfileKind::node)) {
      const std::string gpu = catalog.node(node).gpu.name;
      const bool known =
          std::any_of(out.begin(), out.end(), [&](const GpuOnNode& earlier) { return earlier.gpu == gpu; });
      if (!known) out.push_back({gpu, node});
    }
    return out;
  }();
  return gpus;
}

std::string random_scenario(const Chosen& chosen, std::mt19937& random) {
  static const std::vector<std::string> models = {"gpt3-1.3b",   "gpt3-125m",  "llama3-8b",  "mixtral-8x7b",
                                                  "mamba2-1.3b", "bert-large", "llama2-70b", "deepseek-v2-lite"};
  static const std::vector<std::string> frameworks = {"megatron-core", "megatron-lm-2021", "deepspeed", "torchtitan",
                                                      "llm-foundry"};
  static const std::vector<std::string> schedules = {"1f1b", "gpipe", "zb-h1", "zb-v", "dualpipe-v"};
  static const std::vector<std::string> recompute = {"none", "selective", "full"};
  const std::string model = one_of(models, random);
  const int sequence = 512 << (random() % (model == "bert-large" ? 1 : 12));
  const int tensor = one_of<int>({1, 1, 2, 4, 8}, random);
  const int pipeline = one_of<int>({1, 1, 2, 4}, random);
  const int micro_batch = sequence <= 4096 ? one_of<int>({1, 2, 4, 16}, random) : 1;
  std::string out = fmt::format("model: {}\ncluster:\n  nodes: {}\n", model, chosen.nodes);
  out += fmt::format("training:\n  precision: {}\n  sequence_length: {}\n  global_batch: {}\n  framework: {}\n",
                     chosen.precision, sequence, 64 * micro_batch, one_of(frameworks, random));
  static const std::vector<std::string> preferences = {"{answers: 2}", "{answers: 2, reference: model}",
                                                       "{reference: model, mismatched: true}"};
  if (pipeline == 1 && random() % 4 == 0) out += fmt::format("  preferences: {}\n", one_of(preferences, random));
  out += fmt::format("strategy:\n  tensor: {}\n  pipeline: {}\n  micro_batch: {}\n  recompute: {}\n", tensor, pipeline,
                     micro_batch, one_of(recompute, random));
  if (pipeline > 1) out += fmt::format("  schedule: {}\n", one_of(schedules, random));
  if (tensor > 1 && coin(random)) out += "  sequence_parallel: true\n";
  if (coin(random)) out += "  zero: 1\n";
  if (coin(random)) out += "  overlap_grad_reduce: true\n";
  return out;
}

std::optional<Scenario> scenario_of(const std::string& text) {
  static const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  try {
    return parse_scenario(Document::from_text(text, "none/drawn.yaml"), folders);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return std::nullopt;
  }
}

}  // namespace mirfak::test
