#include "drawn_scenario.hpp"

#include "cluster/catalog.hpp"
#include "model/model_loader.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace mirfak::test {

namespace {

const Catalog& catalog() {
  static const Catalog shipped(source_root() + "/hw_profiles");
  return shipped;
}

const std::vector<ModelSpec>& models() {
  static const std::vector<ModelSpec> all = [] {
    const std::string folder = source_root() + "/models";
    std::vector<ModelSpec> out;
    for (const std::string& name : model_names(folder)) out.push_back(load_model(name, folder, {}));
    return out;
  }();
  return all;
}

std::vector<std::int64_t> divisors_of(std::int64_t number, const std::vector<std::int64_t>& candidates) {
  std::vector<std::int64_t> out;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(out),
               [&](std::int64_t candidate) { return number % candidate == 0; });
  return out;
}

// A draw in the making: the sizes that later choices depend on, and the lines of each section so far.
struct DrawnSections {
  Choices& choices;
  const ModelSpec& model;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;
  std::int64_t data = 1;
  std::int64_t micro_batch = 1;
  std::string strategy;
  std::string training;

  void strategy_key(const char* key, const std::string& value) { strategy += fmt::format("  {}: {}\n", key, value); }
  void training_key(const char* key, const std::string& value) { training += fmt::format("  {}: {}\n", key, value); }
  std::int64_t ranks() const { return tensor * pipeline * context * data; }
};

void draw_sizes(DrawnSections& draw) {
  Choices& choices = draw.choices;
  draw.tensor = choices.one_of(divisors_of(std::max<std::int64_t>(draw.model.heads, 8), {1, 2, 4, 8}));
  draw.pipeline = choices.one_of(divisors_of(std::max<std::int64_t>(draw.model.layers, 8), {1, 1, 2, 3, 4, 8}));
  draw.context = choices.one_of<std::int64_t>({1, 1, 1, 2, 4});
  draw.data = choices.one_of<std::int64_t>({1, 2, 2, 3, 4, 8});
  draw.micro_batch = choices.one_of<std::int64_t>({1, 1, 2, 4});
  draw.strategy +=
      fmt::format("  tensor: {}\n  pipeline: {}\n  micro_batch: {}\n", draw.tensor, draw.pipeline, draw.micro_batch);
  if (draw.context > 1) {
    draw.strategy_key("context", fmt::to_string(draw.context));
    draw.strategy_key("context_communication", choices.one_of<std::string>({"p2p", "all-gather", "a2a"}));
  }
}

void draw_pipeline(DrawnSections& draw) {
  Choices& choices = draw.choices;
  if (draw.pipeline == 1) return;
  const std::string schedule = choices.one_of<std::string>(
      {"1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"});
  draw.strategy_key("schedule", schedule);
  if (schedule == "interleaved-1f1b") draw.strategy_key("virtual_pipeline", choices.one_of<std::string>({"2", "3"}));
}

void draw_experts(DrawnSections& draw) {
  Choices& choices = draw.choices;
  if (draw.model.mixture.experts == 0 || choices.chance(30)) return;
  draw.strategy_key("expert", choices.one_of<std::string>({"2", "4", "8"}));
  if (choices.chance(40)) draw.strategy_key("expert_tensor", "1");
  if (choices.chance(60)) {
    draw.strategy_key("expert_dispatcher",
                      choices.one_of<std::string>({"alltoall", "deepep", "hybridep", "allgather"}));
  }
  if (choices.chance(30)) draw.strategy_key("overlap_expert", "true");
}

void draw_habits_of_strategy(DrawnSections& draw) {
  Choices& choices = draw.choices;
  if (draw.tensor > 1 && (draw.model.mixture.experts > 0 || choices.chance(60))) {
    draw.strategy_key("sequence_parallel", "true");
    if (choices.chance(30)) draw.strategy_key("overlap_tensor", "true");
  }
  draw.strategy_key("zero", choices.one_of<std::string>({"0", "1", "1", "2", "3"}));
  if (choices.chance(50)) draw.strategy_key("overlap_grad_reduce", "true");
  if (choices.chance(30)) draw.strategy_key("overlap_param_gather", "true");
  draw.strategy_key("recompute", choices.one_of<std::string>({"none", "none", "selective", "full"}));
  if (choices.chance(10)) draw.strategy_key("offload_optimizer", choices.one_of<std::string>({"0.5", "1"}));
  if (choices.chance(10)) draw.strategy_key("scatter_gather", choices.one_of<std::string>({"true", "false"}));
}

void draw_training(DrawnSections& draw) {
  Choices& choices = draw.choices;
  draw.training_key("global_batch", fmt::to_string(draw.data * draw.micro_batch *
                                                   choices.one_of<std::int64_t>({1, 2, 4, 8, 16, 4 * draw.pipeline})));
  if (choices.chance(80))
    draw.training_key("sequence_length", choices.one_of<std::string>({"512", "2048", "4096", "8192"}));
  draw.training_key("precision", choices.one_of<std::string>({"bf16", "bf16", "bf16", "fp16", "fp32", "tf32", "fp8",
                                                              "fp8-current", "fp8-block", "mxfp8", "nvfp4"}));
  if (choices.chance(40)) draw.training_key("framework", choices.one_of(frameworks().names()));
  if (choices.chance(15)) {
    draw.training_key("optimizer",
                      choices.one_of<std::string>({"adam-8bit", "adafactor", "lamb", "sgd", "muon", "none"}));
  }
  if (choices.chance(10)) draw.training_key("lora", "{rank: 16}");
  if (choices.chance(10)) draw.training_key("document_lengths", "{512: 3, 2048: 1}");
  if (choices.chance(10))
    draw.training_key("cuda_graphs", choices.one_of<std::string>({"attention", "mlp", "layer", "full"}));
  if (choices.chance(10)) draw.training_key("blocking_launches", "true");
}

std::string cluster_of(DrawnSections& draw) {
  Choices& choices = draw.choices;
  static const std::vector<std::string> usual = {"hgx-h100", "dgx-a100-80g", "hgx-b200", "gb200-nvl72", "mi300x-8"};
  static const std::vector<std::string> all = catalog().names(ProfileKind::node);
  const std::string node = choices.one_of(choices.chance(50) ? usual : all);
  const std::int64_t gpus = catalog().node(node).spec.gpus;
  std::string entry = fmt::format("type: {}", node);
  if (draw.ranks() < gpus) {
    entry += fmt::format(", count: 1, gpus: {}", draw.ranks());
  } else {
    entry += fmt::format(", count: {}", (draw.ranks() + gpus - 1) / gpus);
  }
  if (choices.chance(10)) entry += fmt::format(", clock_mhz: {}", choices.one_of<int>({1000, 1200, 1500}));
  if (choices.chance(10)) entry += fmt::format(", gpu_power_limit_w: {}", choices.one_of<int>({300, 350, 500, 600}));
  std::string out = fmt::format("cluster:\n  nodes:\n    - {{{}}}\n", entry);
  if (choices.chance(10)) out += "    - {type: hgx-h100, count: 1}\n";
  if (choices.chance(25)) {
    out += fmt::format("  fabric: {{type: {}, oversubscription: {}}}\n",
                       choices.one_of<std::string>({"full-bisection", "rail-optimized", "fat-tree", "dragonfly",
                                                    "torus-2d", "torus-3d", "dragonfly+", "rail-only"}),
                       choices.one_of<std::string>({"1", "1.5", "4"}));
  }
  return out;
}

}  // namespace

std::string drawn_scenario(Choices& choices) {
  DrawnSections draw{choices, choices.one_of(models()), 1, 1, 1, 1, 1, {}, {}};
  draw_sizes(draw);
  draw_pipeline(draw);
  draw_experts(draw);
  draw_habits_of_strategy(draw);
  draw_training(draw);
  const std::string cluster = cluster_of(draw);
  return fmt::format("model: {}\n{}strategy:\n{}training:\n{}", draw.model.name, cluster, draw.strategy, draw.training);
}

}  // namespace mirfak::test
