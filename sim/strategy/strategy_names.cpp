#include "strategy/strategy_names.hpp"

namespace mirfak {

const std::vector<std::string>& recompute_names() {
  static const std::vector<std::string> names = {"none", "selective", "full"};
  return names;
}

const std::vector<std::string>& recompute_method_names() {
  static const std::vector<std::string> names = {"block", "uniform"};
  return names;
}

const std::vector<std::string>& context_communication_names() {
  static const std::vector<std::string> names = {"p2p", "all-gather", "a2a"};
  return names;
}

const std::vector<std::string>& expert_dispatcher_names() {
  static const std::vector<std::string> names = {"alltoall", "deepep", "hybridep"};
  return names;
}

const std::vector<std::string>& schedule_kind_names() {
  static const std::vector<std::string> names = {"gpipe", "1f1b", "interleaved-1f1b"};
  return names;
}

const std::vector<std::string>& module_names() {
  static const std::vector<std::string> names = {"core_attn", "layernorm", "mla_up_proj", "moe_act", "mlp", "moe"};
  return names;
}

}  // namespace mirfak
