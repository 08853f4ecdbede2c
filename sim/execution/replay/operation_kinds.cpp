#include "replay/operation_kinds.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

using Meets = OperationMeets;
using Role = OperationRole;

// Operations of hybrid-parallel training from "Understanding Stragglers in Large Model Training Using What-if Analysis"
// (OSDI'25): which of them are communication, and how each is idealised.
constexpr std::array kKinds = {
    OperationKind{"params-all-gather", "params-all-gather", StreamKind::data, TaskKind::collective, Role::gather,
                  Meets::replicas, false},
    OperationKind{"forward-compute", "forward-compute", StreamKind::compute, TaskKind::forward, Role::pass,
                  Meets::nobody, true},
    OperationKind{"backward-compute", "backward-compute", StreamKind::compute, TaskKind::backward, Role::pass,
                  Meets::nobody, true},
    OperationKind{"forward-recv", "forward-pp-comm", StreamKind::recv_forward, TaskKind::transfer, Role::receive,
                  Meets::peer, false},
    OperationKind{"forward-send", "forward-pp-comm", StreamKind::send_forward, TaskKind::transfer, Role::send,
                  Meets::peer, false},
    OperationKind{"backward-recv", "backward-pp-comm", StreamKind::recv_backward, TaskKind::transfer, Role::receive,
                  Meets::peer, false},
    OperationKind{"backward-send", "backward-pp-comm", StreamKind::send_backward, TaskKind::transfer, Role::send,
                  Meets::peer, false},
    OperationKind{"gc", "gc", StreamKind::compute, TaskKind::kernel, Role::finish, Meets::nobody, true},
    OperationKind{"layernorm-grads-all-reduce", "layernorm-grads-all-reduce", StreamKind::data, TaskKind::collective,
                  Role::finish, Meets::nobody, false},
    OperationKind{"embedding-grads-all-reduce", "embedding-grads-all-reduce", StreamKind::data, TaskKind::collective,
                  Role::finish, Meets::stages, false},
    OperationKind{"grads-reduce-scatter", "grads-reduce-scatter", StreamKind::data, TaskKind::collective, Role::finish,
                  Meets::replicas, false},
    OperationKind{"optimizer-clip-main-grad", "optimizer-clip-main-grad", StreamKind::compute, TaskKind::optimizer,
                  Role::finish, Meets::everyone, false},
    OperationKind{"optimizer", "optimizer", StreamKind::compute, TaskKind::optimizer, Role::finish, Meets::nobody,
                  true},
};

}  // namespace

std::span<const OperationKind> operation_kinds() { return kKinds; }

std::optional<OperationKindId> find_operation_kind(std::string_view name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const OperationKind& kind) { return kind.name == name; });
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<OperationKindId>(found - kKinds.begin());
}

std::vector<std::string> operation_kind_names() {
  std::vector<std::string> out;
  for (const OperationKind& kind : kKinds) out.emplace_back(kind.name);
  return out;
}

std::vector<std::string> operation_categories() {
  std::vector<std::string> out;
  for (const OperationKind& kind : kKinds) {
    if (std::find(out.begin(), out.end(), kind.category) == out.end()) out.emplace_back(kind.category);
  }
  return out;
}

}  // namespace mirfak
