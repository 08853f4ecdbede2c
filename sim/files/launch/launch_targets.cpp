#include "launch/launch_targets.hpp"

#include "base/error.hpp"

#include <fmt/ranges.h>

#include <vector>

namespace mirfak {

void require_expressible(bool expressible, std::string_view key, std::string_view reason, std::string_view hint) {
  if (!expressible) fail_infeasible({}, fmt::format("{}: {}", key, reason), std::string(hint));
}

const Value::Field& entry_of_model(const ModelSpec& model, const Value& facts, std::string_view section,
                                   std::string_view lacks) {
  const Value* known = facts.find(section);
  if (known == nullptr) fail_internal(fmt::format("hw_profiles/launch has no {}", section));
  std::vector<std::string> names;
  for (const Value::Field& entry : known->fields) {
    const auto is = [&](std::string_view key, const std::string& size) {
      return entry.value.find(key)->scalar == size;
    };
    if (is("model", model.name) && is("layers", std::to_string(model.layers)) &&
        is("hidden", std::to_string(model.hidden))) {
      return entry;
    }
    names.push_back(entry.value.find("model")->scalar);
  }
  fail_infeasible({}, fmt::format("model: {} of the sizes of {}", lacks, model.name),
                  fmt::format("it has {}", fmt::join(names, ", ")));
}

std::string world_comment(const Job& job) {
  std::string nodes;
  for (const NodeGroup& group : job.cluster.kinds()) {
    const NodeSpec& spec = group.hardware.spec;
    if (group.nodes() > 0) {
      nodes += fmt::format("{}{} nodes of {} GPUs", nodes.empty() ? "" : ", ", group.count, spec.gpus);
    }
    if (!spec.part) continue;  // else ranks of a node take its kinds of GPU in this order
    nodes +=
        fmt::format(", {} to {} {}", spec.part.first, spec.part.first + spec.part.gpus - 1, group.hardware.gpu.name);
  }
  const std::string blocking = job.training.blocking_launches ? "; CUDA_LAUNCH_BLOCKING=1 in the environment" : "";
  return fmt::format("world size {}: {}{}", job.strategy.ranks(), nodes, blocking);
}

}  // namespace mirfak
