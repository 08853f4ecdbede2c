#include "launch/launch_targets.hpp"

#include "base/error.hpp"

namespace mirfak {

void require_expressible(bool expressible, std::string_view key, std::string_view reason, std::string_view hint) {
  if (!expressible) fail_infeasible({}, fmt::format("{}: {}", key, reason), std::string(hint));
}

std::string world_comment(const Job& job) {
  std::string nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    nodes += fmt::format("{}{} nodes of {} GPUs", nodes.empty() ? "" : ", ", group.count, group.hardware.spec.gpus);
  }
  const std::string blocking = job.training.blocking_launches ? "; CUDA_LAUNCH_BLOCKING=1 in the environment" : "";
  return fmt::format("world size {}: {}{}", job.strategy.ranks(), nodes, blocking);
}

}  // namespace mirfak
