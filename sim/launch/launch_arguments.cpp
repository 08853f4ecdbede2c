#include "launch/launch_arguments.hpp"

#include "base/error.hpp"
#include "launch/launch_targets.hpp"

#include <array>

namespace mirfak {

namespace {

constexpr std::array kTargets = {
    LaunchTargetInfo{LaunchTarget::megatron, "megatron",
                     "Megatron-LM core_v0.19.0: command-line arguments of pretrain_gpt.py.", megatron_arguments},
    LaunchTargetInfo{LaunchTarget::torchtitan, "torchtitan", "torchtitan v0.2.2: a TOML file.", torchtitan_config},
    LaunchTargetInfo{LaunchTarget::deepspeed, "deepspeed",
                     "DeepSpeed v0.19.5: arguments of Megatron-DeepSpeed's pretrain_gpt.py, and a JSON file.",
                     deepspeed_arguments},
};

}  // namespace

std::span<const LaunchTargetInfo> launch_targets() { return kTargets; }

std::vector<std::string> launch_target_names() {
  std::vector<std::string> names;
  for (const LaunchTargetInfo& info : kTargets) names.emplace_back(info.name);
  return names;
}

std::string launch_arguments(const Job& job, LaunchTarget target) {
  if (!job.model.blocks.empty()) {
    fail_infeasible({}, "model: the arguments of these programs describe GPT and its relatives, not a model of blocks",
                    "name a model that states layers, hidden, heads, ...");
  }
  require_expressible(job.strategy.stages.empty(), "strategy.stages",
                      "these programs have no pipeline stages of their own shape", "leave it out");
  require_expressible(job.training.documents.empty(), "training.document_lengths",
                      "what sequences are packed with lies in the data, not in these arguments", "leave it out");
  return kTargets.at(static_cast<std::size_t>(target)).arguments(job);
}

}  // namespace mirfak
