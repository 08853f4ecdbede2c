// Accelerate v1.11: commands/config/config_args.py, utils/dataclasses.py (FullyShardedDataParallelPlugin,
// DeepSpeedPlugin), parallelism_config.py, utils/launch.py (settings of the file that become environment variables).

#include "import/accelerate.hpp"

#include "import/deepspeed_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxRanks = 1 << 20;

class AccelerateReader {
 public:
  AccelerateReader(ImportDraft& draft, const ProgramFacts& facts)
      : facts_(facts),
        options_(draft, facts.section("accelerate_defaults"), "Accelerate", std::string(kAcceleratePrefix)) {}

  AccelerateSays read() {
    read_machines();
    read_precision();
    read_parallelism();
    read_distribution();
    read_compilation();
    const Value& rules = facts_.section("accelerate");
    hold_back(options_.draft(), kAcceleratePrefix, *rules.find("held_back"));
    judge_options(options_.draft(), kAcceleratePrefix, *rules.find("without_effect"), *rules.find("not_predicted"));
    return says_;
  }

 private:
  void read_machines() {
    const Option machines = options_.option("num_machines");
    const Option processes = options_.option("num_processes");
    const std::int64_t nodes = options_.integer(machines, 1, kMaxRanks);
    options_.use(machines, fmt::format("{} nodes", nodes));
    if (processes.setting == nullptr || processes.is_none()) return;
    const std::int64_t ranks = options_.integer(processes, 1, kMaxRanks);
    if (ranks % nodes != 0) options_.fail(processes, fmt::format("a multiple of {} machines", nodes));
    options_.use(processes, fmt::format("{} GPUs of each node", ranks / nodes));
    ImportedMachine& machine = options_.draft().machine;
    machine.nodes = nodes;
    machine.gpus_per_node = ranks / nodes;
    machine.said_by = processes.setting->text;
    says_.processes = ranks;
  }

  void read_precision() {
    const Option option = options_.option("mixed_precision");
    const std::string word = options_.word(option, {"no", "fp16", "bf16", "fp8"});
    if (word == "no") return options_.leave(option, "the program says it, or nothing is narrow");
    says_.precision = word == "fp8" ? "fp8-delayed" : word;
    options_.put(option, "training.precision", *says_.precision);
    if (word == "fp8") options_.doubt(option, "which recipe of scaling: fp8_config; taken as delayed");
  }

  std::int64_t size(const char* name) {
    return options_.integer(options_.option(fmt::format("parallelism_config.parallelism_config_{}_size", name)), 1,
                            kMaxRanks);
  }

  void read_parallelism() {
    const auto option = [&](const char* name) {
      return options_.option(fmt::format("parallelism_config.parallelism_config_{}", name));
    };
    const std::int64_t tensor = size("tp");
    const std::int64_t context = size("cp");
    const std::int64_t replicate = size("dp_replicate");
    const std::int64_t shard = size("dp_shard");
    says_.model_ranks = tensor * context;
    if (tensor > 1) options_.put(option("tp_size"), "strategy.tensor", std::to_string(tensor));
    if (tensor == 1) options_.leave(option("tp_size"), "no tensor ranks");
    const Option way = option("cp_comm_strategy");
    if (context > 1) {
      options_.put(option("cp_size"), "strategy.context", std::to_string(context));
      const bool ring = options_.word(way, {"allgather", "alltoall"}) == "alltoall";
      options_.put(way, "strategy.context_communication", ring ? "p2p" : "all-gather");
    } else {
      options_.leave(option("cp_size"), "no context ranks");
      options_.leave(way, "no context ranks");
    }
    if (replicate > 1 && shard > 1) {
      options_.put(option("dp_shard_size"), "strategy.zero_group", std::to_string(shard * context));
    } else {
      options_.use(option("dp_shard_size"), "data ranks that share one sharded copy");
    }
    options_.use(option("dp_replicate_size"), "copies of what is sharded");
  }

  void read_distribution() {
    const Option option = options_.option("distributed_type");
    const std::string type = options_.word(option);
    if (type == "FSDP") {
      options_.use(option, "strategy.zero follows from fsdp_config");
      says_.sharding = HubSharding::fsdp;
      return read_fsdp();
    }
    if (type == "DEEPSPEED") {
      options_.use(option, "strategy.zero follows from deepspeed_config");
      says_.sharding = HubSharding::deepspeed;
      return read_deepspeed();
    }
    if (type == "MULTI_GPU" || type == "NO") {
      says_.sharding = type == "NO" ? std::nullopt : std::optional(HubSharding::none);
      return options_.use(option, "each GPU holds a copy of the model, unless the Trainer says otherwise");
    }
    options_.doubt(option, "GPUs with DDP, FSDP or DeepSpeed only");
    options_.draft().obstruct(option.setting->where, fmt::format("mirfak does not know Accelerate's {}", type));
  }

  bool fsdp_flag(const char* name) {
    const Option option = options_.option(fmt::format("fsdp_config.{}", name));
    return option.value.kind != Value::Kind::null && options_.flag(option);
  }

  // FSDP 2 states fsdp_reshard_after_forward: true or false; FSDP 1 states a strategy, by name or number.
  void read_fsdp() {
    const Option reshard = options_.option("fsdp_config.fsdp_reshard_after_forward");
    const Option strategy = options_.option("fsdp_config.fsdp_sharding_strategy");
    const std::string word = reshard.setting != nullptr ? options_.word(reshard) : "";
    const bool second = word == "true" || word == "false" || word == "True" || word == "False";
    if (second) {
      options_.put(reshard, "strategy.zero", options_.flag(reshard) ? "3" : "2");
      options_.leave(strategy, "FSDP 2 has fsdp_reshard_after_forward");
    } else {
      read_strategy(reshard.setting != nullptr ? reshard : strategy);
    }
    read_fsdp_rest();
  }

  void read_strategy(const Option& option) {
    const std::string word = options_.word(option);
    constexpr std::array<std::string_view, 5> kNames = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                                        "HYBRID_SHARD_ZERO2"};
    const std::size_t at = static_cast<std::size_t>(
        word.size() == 1 ? word[0] - '1' : std::find(kNames.begin(), kNames.end(), word) - kNames.begin());
    if (at >= kNames.size())
      options_.fail(option, "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or HYBRID_SHARD_ZERO2");
    constexpr std::array<const char*, 5> kStages = {"3", "2", "0", "3", "2"};
    options_.put(option, "strategy.zero", kStages.at(at));
    if (at < 3) return;
    const auto& machine = options_.draft().machine;
    if (machine.gpus_per_node) {
      options_.put(option, "strategy.zero_group", std::to_string(*machine.gpus_per_node), "each node holds a copy");
    } else {
      options_.doubt(option, "each node holds a copy: num_processes would say of how many GPUs");
    }
  }

  void read_fsdp_rest() {
    const Option checkpointing = options_.option("fsdp_config.fsdp_activation_checkpointing");
    if (options_.flag(checkpointing)) options_.put(checkpointing, "strategy.recompute", "full");
    if (!options_.flag(checkpointing)) options_.leave(checkpointing, "off");
    const Option offload = options_.option("fsdp_config.fsdp_offload_params");
    if (fsdp_flag("fsdp_offload_params")) {
      options_.doubt(offload, "no prediction has parameters and gradients on the host");
    } else {
      options_.leave(offload, "nothing lies on the host");
    }
    options_.leave(options_.option("fsdp_config.fsdp_backward_prefetch"),
                   "gathers run ahead, as the framework's file has it");
    options_.leave(options_.option("fsdp_config.fsdp_forward_prefetch"),
                   "gathers run ahead, as the framework's file has it");
  }

  void read_deepspeed() {
    const Option file = options_.option("deepspeed_config.deepspeed_config_file");
    const Option stage = options_.option("deepspeed_config.zero_stage");
    const Option steps = options_.option("deepspeed_config.gradient_accumulation_steps");
    if (steps.setting != nullptr && options_.word(steps) != "auto") {
      says_.accumulation = options_.integer(steps, 1, 1 << 20);
      options_.use(steps, "microbatches of a GPU in a step");
    } else {
      options_.use(steps, "as the Trainer says");
    }
    if (file.setting != nullptr && !file.is_none() && options_.word(file) != "none") {
      says_.deepspeed_file = options_.word(file);
      return options_.use(file, "read beside");
    }
    const std::int64_t zero = options_.integer(stage, 0, 3);
    options_.put(stage, "strategy.zero", std::to_string(zero));
    if (zero > 0)
      options_.put(stage, "strategy.overlap_grad_reduce", zero == 3 ? "true" : "false", "DeepSpeed's default");
    if (zero == 2) note_no_overlap(options_.draft(), stage.setting, zero);
    read_deepspeed_offload(zero);
  }

  void read_deepspeed_offload(std::int64_t zero) {
    const Option device = options_.option("deepspeed_config.offload_optimizer_device");
    const std::string where = options_.word(device, {"none", "cpu", "nvme"});
    if (where == "cpu" && zero > 0) {
      options_.put(device, "strategy.offload_optimizer", "1");
    } else if (where == "nvme") {
      options_.doubt(device, "no prediction has an optimizer on disks");
    } else {
      options_.leave(device, "nothing lies on the host");
    }
    const Option parameters = options_.option("deepspeed_config.offload_param_device");
    if (options_.word(parameters, {"none", "cpu", "nvme"}) == "none" || zero < 3) {
      return options_.leave(parameters, "parameters lie on the GPUs");
    }
    options_.doubt(parameters, "no prediction has parameters on the host");
  }

  void read_compilation() {
    const Option backend = options_.option("dynamo_config.dynamo_backend");
    const std::string word = options_.word(backend);
    says_.compiled = word != "NO" && word != "no";
    options_.use(backend, says_.compiled ? "blocks are compiled" : "blocks are not compiled");
  }

  const ProgramFacts& facts_;
  OptionReader options_;
  AccelerateSays says_;
};

}  // namespace

AccelerateSays read_accelerate(ImportDraft& draft, const ProgramFacts& facts) {
  return AccelerateReader(draft, facts).read();
}

}  // namespace mirfak
