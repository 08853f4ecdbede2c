// Accelerate v1.11: commands/config/config_args.py, utils/dataclasses.py (FullyShardedDataParallelPlugin,
// DeepSpeedPlugin), parallelism_config.py, utils/launch.py (settings of the file that become environment variables).

#include "import/accelerate.hpp"

#include "import/deepspeed_json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

class AccelerateReader {
 public:
  AccelerateReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context)
      : facts_(facts),
        options_(draft, option_list(context.sources.folders.hardware, "accelerate"), "Accelerate",
                 std::string(kAcceleratePrefix)),
        gpus_(context.gpus) {}

  AccelerateSays read() {
    read_machines();
    const std::string precision = options_.read("mixed_precision");
    if (!precision.empty()) says_.precision = precision;
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
    const std::int64_t nodes = options_.count(machines.name);
    options_.use(machines, fmt::format("{} nodes", nodes));
    if (processes.setting == nullptr || processes.is_none()) return;
    const std::int64_t ranks = options_.count(processes.name);
    if (ranks % nodes != 0) options_.fail(processes, fmt::format("a multiple of {} machines", nodes));
    options_.use(processes, fmt::format("{} GPUs of each node", ranks / nodes));
    ImportedMachine& machine = options_.draft().machine;
    machine.nodes = nodes;
    machine.gpus_per_node = ranks / nodes;
    machine.said_by = processes.setting->text;
    says_.processes = ranks;
  }

  void read_parallelism() {
    const auto size = [&](const char* name) {
      return options_.count(fmt::format("parallelism_config.parallelism_config_{}_size", name));
    };
    const Option shard = options_.option("parallelism_config.parallelism_config_dp_shard_size");
    options_.read_part("ranks");
    const std::int64_t context = size("cp");
    says_.model_ranks = size("tp") * context;
    // Ranks that nobody divides otherwise hold further copies of what is sharded.
    const std::int64_t shards = size("dp_shard");
    const std::int64_t all = says_.processes.value_or(gpus_.value_or(0));
    const bool copies = size("dp_replicate") > 1 || all > shards * says_.model_ranks;
    if (copies && shards > 1) {
      options_.put(shard, "strategy.zero_group", std::to_string(shards * context));
    } else {
      options_.use(shard, "data ranks that share one sharded copy");
    }
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
      return read_deepspeed_config();
    }
    if (type == "MULTI_GPU" || type == "NO") {
      says_.sharding = type == "NO" ? std::nullopt : std::optional(HubSharding::none);
      return options_.use(option, "each GPU holds a copy of the model, unless the Trainer says otherwise");
    }
    options_.doubt(option, "GPUs with DDP, FSDP or DeepSpeed only");
    options_.draft().obstruct(option.setting->where, fmt::format("mirfak does not know Accelerate's {}", type));
  }

  void read_fsdp() {
    const Option reshard = options_.option("fsdp_config.fsdp_reshard_after_forward");
    const Option strategy = options_.option("fsdp_config.fsdp_sharding_strategy");
    const Option& says = reshard.setting != nullptr ? reshard : strategy;
    const std::string word = options_.word(says);
    options_.read(says.name);
    const bool second = word == "true" || word == "false" || word == "True" || word == "False";
    if (second) options_.leave(strategy, "FSDP 2 has fsdp_reshard_after_forward");
    const auto& of_node = options_.draft().machine.gpus_per_node;
    const bool in_nodes = word.starts_with("HYBRID") || word == "4" || word == "5";
    if (in_nodes && of_node) {
      options_.put(says, "strategy.zero_group", std::to_string(*of_node), "each node holds a copy");
    } else if (in_nodes) {
      options_.doubt(says, "each node holds a copy: num_processes would say of how many GPUs");
    }
    options_.read_part("fsdp");
  }

  void read_deepspeed_config() {
    const Option file = options_.option("deepspeed_config.deepspeed_config_file");
    const Option stage = options_.option("deepspeed_config.zero_stage");
    const Option steps = options_.option("deepspeed_config.gradient_accumulation_steps");
    if (steps.setting != nullptr && options_.word(steps) != "auto") {
      says_.accumulation = options_.count(steps.name);
      options_.use(steps, "microbatches of a GPU in a step");
    } else {
      options_.use(steps, "as the Trainer says");
    }
    if (file.setting != nullptr && !file.is_none() && options_.word(file) != "none") {
      return options_.use(file, "read as well");
    }
    const std::string zero = options_.read(stage.name);
    if (zero != "0") {
      options_.put(stage, "strategy.overlap_grad_reduce", zero == "3" ? "true" : "false", "DeepSpeed's default");
    }
    if (zero == "2") note_no_overlap(options_.draft(), stage.setting, 2);
    options_.read_part("deepspeed");
  }

  void read_compilation() {
    const Option backend = options_.option("dynamo_config.dynamo_backend");
    const std::string word = options_.word(backend);
    says_.compiled = word != "NO" && word != "no";
    options_.use(backend, says_.compiled ? "blocks are compiled" : "blocks are not compiled");
  }

  const ProgramFacts& facts_;
  OptionReader options_;
  std::optional<std::int64_t> gpus_;
  AccelerateSays says_;
};

}  // namespace

AccelerateSays read_accelerate(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context) {
  return AccelerateReader(draft, facts, context).read();
}

}  // namespace mirfak
