#include "strategy/strategy.hpp"

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
  static const std::vector<std::string> names = {"alltoall", "deepep", "hybridep", "allgather"};
  return names;
}

const std::vector<std::string>& scatter_gather_names() {
  static const std::vector<std::string> names = {"framework", "false", "true"};
  return names;
}

const std::vector<std::string>& rank_order_names() {
  static const std::vector<std::string> names = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"};
  return names;
}

const std::vector<std::string>& module_names() {
  static const std::vector<std::string> names = {"core_attn", "layernorm", "mla_up_proj", "moe_act",
                                                 "mlp",       "moe",       "op"};
  return names;
}

const std::vector<std::string>& offload_module_names() {
  static const std::vector<std::string> names = {"attn_norm", "qkv_linear", "core_attn", "attn_proj",
                                                 "mlp_norm",  "expert_fc1", "moe_act"};
  return names;
}

ExpertSpan Strategy::expert_span() const {
  ExpertSpan span;
  span.data = expert;
  if (tensor_of_experts() == 1 && tensor > 1 && span.data % tensor == 0) {
    span.tensor = true;
    span.data /= tensor;
  }
  if (context > 1 && span.data > 1 && span.data % context == 0) {
    span.context = true;
    span.data /= context;
  }
  return span;
}

Strategy Strategy::at(int stage) const {
  Strategy out = *this;
  if (stages.empty()) return out;
  const StageShape shape = shape_of(stage);
  const std::int64_t sequences = std::int64_t{micro_batch} * data;  // sequences of a microbatch
  out.tensor = shape.tensor;
  out.data = shape.data;
  out.expert = shape.expert;
  out.micro_batch = static_cast<int>(sequences / shape.data);
  return out;
}

int Strategy::first_rank(int stage) const {
  if (stages.empty()) return stage * data * team();
  int first = 0;
  for (int before = 0; before < stage; ++before) first += ranks_of(before);
  return first;
}

int Strategy::expert_replicas() const {
  const ExpertSpan span = expert_span();
  return replicas() / (span.data * (span.context ? context : 1));
}

}  // namespace mirfak
