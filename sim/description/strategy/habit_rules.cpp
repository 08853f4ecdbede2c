#include "strategy/habit_rules.hpp"

#include "schedule/schedule.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace mirfak {

using Broken = std::optional<Violation>;

// Checks that two halves of a microbatch can run at the same time.
Broken halves_run_beside(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.nanobatches == 1) return std::nullopt;
  const auto broken = [](std::string message, std::string hint) {
    return Violation{"strategy.nanobatches", std::move(message), std::move(hint)};
  };
  if (!in.framework.parallelism.nanobatches) {
    return broken(fmt::format("{} runs each microbatch whole", in.framework.name),
                  "leave it out, or choose a training.framework whose file says parallelism: nanobatches");
  }
  if (s.team() == 1) {
    return broken("one rank alone runs a microbatch, so nothing is exchanged that could run beside the other half",
                  "leave it out, or raise strategy.tensor or strategy.context");
  }
  if (s.micro_batch % s.nanobatches != 0) {
    return broken(fmt::format("a microbatch of {} cannot be divided into {} parts", s.micro_batch, s.nanobatches),
                  "choose an even strategy.micro_batch");
  }
  if (schedule_of(s.schedule).splits || schedule_of(s.schedule).pairs) {
    return broken(
        fmt::format("passes of {} are themselves split, or run beside each other", schedule_of(s.schedule).name),
        "choose a schedule of whole passes, such as 1f1b");
  }
  if (s.overlap_tensor || s.overlap_expert) {
    return broken(
        "communication runs beside the other half, and cannot run beside pieces of a product, or another "
        "microbatch, too",
        "leave out strategy.overlap_tensor and strategy.overlap_expert");
  }
  if (!s.stages.empty()) {
    return broken("stages of their own shape run microbatches whole", "leave it out, or leave strategy.stages out");
  }
  return std::nullopt;
}

// Checks that ranks can be numbered with all stages of a replica before the next replica. Experts must then lie on the
// ranks of their replica, for stages have the same ranks with and without experts (initialize_model_parallel of
// megatron/core/parallel_state.py: "When not using pp-last rank ordering, ...").
Broken ranks_are_ordered(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.rank_order == RankOrder::pipeline_last) return std::nullopt;
  const std::string& name = rank_order_names()[static_cast<std::size_t>(s.rank_order)];
  const auto broken = [](std::string message, std::string hint) {
    return Violation{"strategy.rank_order", std::move(message), std::move(hint)};
  };
  if (!in.framework.parallelism.data_last) {
    return broken(fmt::format("{} does not number ranks as {}", in.framework.name, name),
                  "leave it out, or choose a training.framework whose file says parallelism: data_last");
  }
  if (!s.stages.empty()) {
    return broken("stages of their own shape have consecutive ranks", "leave it out, or leave strategy.stages out");
  }
  if (s.pipeline == 1 || std::int64_t{s.expert} * s.tensor_of_experts() == s.team()) return std::nullopt;
  return broken(
      fmt::format("{} takes expert times expert_tensor ({} x {}) equal to tensor times context ({} x {}), so that "
                  "experts lie within a replica",
                  name, s.expert, s.tensor_of_experts(), s.tensor, s.context),
      "leave it out, or choose such sizes; strategy.expert is 1 for a model without experts");
}

// Checks the optimizer on the host. Sources: megatron/training/arguments.py: only Adam, as the precision-aware
// optimizer; Megatron-Bridge's documentation: the distributed optimizer; DeepSpeed: docs/_pages/config-json.md,
// offload_config.py.
Broken offloaded_optimizer(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.offload_optimizer == 0) return std::nullopt;
  constexpr const char* key = "strategy.offload_optimizer";
  const OffloadHabits& offload = in.framework.offload;
  if (offload.max_zero == 0) {
    return Violation{key, fmt::format("{} keeps the optimizer on the device", in.framework.name),
                     "leave it out or choose another training.framework"};
  }
  if (s.zero < 1 || s.zero > offload.max_zero) {
    const std::string stages = offload.max_zero > 1 ? fmt::format("1 to {}", offload.max_zero) : "1";
    return Violation{key,
                     fmt::format("{} offloads the optimizer with ZeRO {}, not {}", in.framework.name, stages, s.zero),
                     fmt::format("set strategy.zero: {}", stages)};
  }
  if (in.training.optimizer != Optimizer::adam) {
    return Violation{key, "only Adam steps on the host", "set training.optimizer: adam or leave offload_optimizer out"};
  }
  if (s.offload_optimizer < 1 && s.zero < offload.shares_from_zero) {
    return Violation{key,
                     fmt::format("{} offloads a share of the optimizer with ZeRO {} and above, with ZeRO {} all of it",
                                 in.framework.name, offload.shares_from_zero, s.zero),
                     "set it to 1"};
  }
  return std::nullopt;
}

// Checks parameters on the host. DeepSpeed: docs/_pages/config-json.md (offload_param: ZeRO stage 3 only). FSDP:
// CPUOffload and CPUOffloadPolicy take parameters, gradients and the optimizer's step to the host together.
Broken offloaded_parameters(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const OffloadHabits& offload = in.framework.offload;
  if (offload.together && s.offload_parameters != (s.offload_optimizer > 0)) {
    return Violation{s.offload_parameters ? "strategy.offload_parameters" : "strategy.offload_optimizer",
                     fmt::format("{} has parameters and optimizer on the host, or none of them", in.framework.name),
                     "set strategy.offload_parameters: true and strategy.offload_optimizer: 1, or leave both out"};
  }
  if (!s.offload_parameters) return std::nullopt;
  constexpr const char* key = "strategy.offload_parameters";
  if (!offload.parameters) {
    return Violation{key, fmt::format("{} keeps parameters on the device", in.framework.name),
                     "leave it out, or choose a training.framework whose file says offload: parameters"};
  }
  if (s.zero == 3) return std::nullopt;
  return Violation{key, fmt::format("shards of parameters lie on the host with ZeRO 3, not {}", s.zero),
                   "set strategy.zero: 3 or leave it out"};
}

// Checks activations of modules on the host. Megatron Core: transformer_config.py (not with cpu_offloading; attn_proj
// with core_attn, as attention needs its own result again).
Broken offloaded_modules(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.offload_modules.none()) return std::nullopt;
  const auto broken = [](std::string message, std::string hint) {
    return Violation{"strategy.offload_modules", std::move(message), std::move(hint)};
  };
  if (!in.framework.offload.modules) {
    return broken(fmt::format("{} keeps activations of modules on the device", in.framework.name),
                  "leave it out, or choose a training.framework whose file says offload: modules");
  }
  if (s.offload_layers > 0) return broken("offload_layers takes all activations of layers", "leave one of them out");
  const auto chosen = [&](OffloadModule module) { return s.offload_modules.test(static_cast<std::size_t>(module)); };
  if (chosen(OffloadModule::attention_projection) && !chosen(OffloadModule::core_attention)) {
    return broken("attention needs the input of attn_proj again, which is its own result", "add core_attn");
  }
  if (s.recompute == Recompute::full) {
    return broken("a layer that is recomputed in full keeps no inputs of modules", "set strategy.recompute: selective");
  }
  if (s.nanobatches > 1 || schedule_of(s.schedule).pairs) {
    return broken("no prediction has it where two passes, or two parts of a microbatch, run at once",
                  "set strategy.nanobatches: 1 and a schedule without pairs");
  }
  return std::nullopt;
}

// Checks state on disks of the host. DeepSpeed: runtime/zero/offload_config.py, stage3.py (nvme with ZeRO 3).
Broken state_on_disks(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const auto broken = [](const char* key, std::string message, std::string hint) {
    return Violation{key, std::move(message), std::move(hint)};
  };
  constexpr const char* optimizer = "strategy.optimizer_on_disk";
  constexpr const char* parameters = "strategy.parameters_on_disk";
  if (s.overlap_disk && !s.optimizer_on_disk) {
    return broken("strategy.overlap_disk", "no state of the optimizer lies on disks",
                  "set strategy.optimizer_on_disk: true, or leave it out");
  }
  if (!s.optimizer_on_disk && !s.parameters_on_disk) return std::nullopt;
  const char* const key = s.optimizer_on_disk ? optimizer : parameters;
  if (!in.framework.offload.disks) {
    return broken(key, fmt::format("{} keeps nothing on disks", in.framework.name),
                  "leave it out, or choose a training.framework whose file says offload: disks");
  }
  if (s.zero != 3) {
    return broken(key, fmt::format("state lies on disks with ZeRO 3, not {}", s.zero), "set strategy.zero: 3");
  }
  if (s.optimizer_on_disk && s.offload_optimizer < 1) {
    return broken(optimizer, "the host steps what lies on its disks, and all of it", "set offload_optimizer: 1");
  }
  if (s.parameters_on_disk && !s.offload_parameters) {
    return broken(parameters, "parameters on disks come to the device through the host's memory",
                  "set strategy.offload_parameters: true");
  }
  return std::nullopt;
}

// Checks that head and loss can run in chunks of the sequence. torchtitan: components/loss.py (ChunkedLossWrapper)
// takes equal chunks of a rank's tokens.
Broken loss_in_chunks(const RuleInput& in) {
  const int chunks = in.training.loss_chunks;
  if (chunks == 0) return std::nullopt;
  const auto broken = [](std::string message, std::string hint) {
    return Violation{"training.loss_chunks", std::move(message), std::move(hint)};
  };
  if (!in.framework.kernels.chunked_loss) {
    return broken(fmt::format("{} computes the loss of all tokens at once", in.framework.name),
                  "leave it out, or choose a training.framework whose file says kernels: chunked_loss");
  }
  if (in.model.prediction_layers > 0) {
    return broken("the heads of multi-token prediction are not computed in chunks", "leave it out");
  }
  const std::int64_t tokens = in.training.sequence_length / in.strategy.context;
  if (tokens % chunks == 0) return std::nullopt;
  return broken(fmt::format("{} tokens of a sequence on a rank cannot be divided into {} equal chunks", tokens, chunks),
                "choose a divisor of them");
}

// Checks DoRA, whose norms of columns nobody computes over divided columns.
Broken adapters_decompose(const RuleInput& in) {
  if (!in.training.adapters.decomposed) return std::nullopt;
  const auto broken = [](std::string message, std::string hint) {
    return Violation{"training.lora.decomposed", std::move(message), std::move(hint)};
  };
  if (!in.framework.adapters.decomposed) {
    return broken(fmt::format("{} has no DoRA", in.framework.name),
                  "leave it out, or choose a training.framework whose file says adapters: decomposed");
  }
  // With dropout, the product that is computed again widens the weight, once for the norms, too.
  const LowRankAdapters& adapters = in.training.adapters;
  if (adapters.base != FrozenBase::as_trained && adapters.dropout == 0) {
    return broken("a kernel that widens a weight in 4 or 8 bits for its norms alone is not described",
                  "state training.lora.dropout, or leave training.lora.base out");
  }
  if (in.strategy.tensor == 1) return std::nullopt;
  return broken("DoRA's norms of whole columns are not described for layers that tensor ranks divide",
                "set strategy.tensor: 1 or leave it out");
}

// Checks that the framework projects gradients, that its optimizer has states to keep for projections, and that a rank
// holds whole matrices and their whole gradients.
Broken gradients_are_projected(const RuleInput& in) {
  const LowRankGradients& low = in.training.low_rank_gradients;
  if (!low.any()) return std::nullopt;
  const auto broken = [](std::string message, std::string hint) {
    return Violation{"training.low_rank_gradients", std::move(message), std::move(hint)};
  };
  if (!in.framework.memory.low_rank_gradients) {
    return broken(fmt::format("{} keeps optimizer states for whole gradients", in.framework.name),
                  "leave it out, or choose a training.framework whose file says memory: low_rank_gradients");
  }
  const Optimizer optimizer = in.training.optimizer;
  if (optimizer != Optimizer::adam && optimizer != Optimizer::adam_8bit && optimizer != Optimizer::adafactor) {
    return broken("it has Adam's or Adafactor's states", "set training.optimizer: adam, adam-8bit or adafactor");
  }
  if (in.training.narrow_states()) {
    return broken("its states have the type of the gradients",
                  "leave first_moment, second_moment and main_parameters out");
  }
  if (in.training.adapters.rank > 0) {
    return broken("adapters are of low rank themselves", "leave training.lora or low_rank_gradients out");
  }
  const Strategy& s = in.strategy;
  if (s.zero > 0 || s.tensor > 1 || s.offload_optimizer > 0) {
    return broken("whole matrices are decomposed where their gradients are: no program divides or moves them",
                  "set strategy.tensor: 1, zero: 0 and offload_optimizer: 0");
  }
  if (low.rank <= in.model.hidden) return std::nullopt;
  return broken(fmt::format("{} dimensions are more than the hidden size {}", low.rank, in.model.hidden),
                "a rank is far below it, such as 128");
}

}  // namespace mirfak
