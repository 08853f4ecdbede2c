#include "program/block_hardware.hpp"

#include <algorithm>

namespace mirfak {

BlockHardware::BlockHardware(const Job& job) {
  const auto groups = job.cluster.groups();
  fused_attention = !job.framework.fusion.attention.empty() &&
                    std::all_of(groups.begin(), groups.end(),
                                [](const NodeGroup& group) { return !group.hardware.gpu.attention.empty(); });
  one_layout = std::any_of(groups.begin(), groups.end(), [](const NodeGroup& group) {
    return group.hardware.gpu.architecture == "ada" || group.hardware.gpu.architecture == "hopper";
  });
}

}  // namespace mirfak
