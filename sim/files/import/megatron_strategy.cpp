#include "import/megatron_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

namespace {

void read_dispatcher(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const Setting* setting = options.said({"moe-token-dispatcher-type"});
  const Setting* backend = options.said({"moe-flex-dispatcher-backend"});
  const Setting* deep = options.flag({"moe-enable-deepep"});
  const std::string kind =
      setting == nullptr ? (reading.deepspeed ? "alltoall" : "allgather") : word_of(setting->value);
  if (kind == "flex") {
    const std::string name = deep != nullptr || backend == nullptr ? "deepep" : word_of(backend->value);
    draft.take(*setting, "strategy.expert_dispatcher", name, backend == nullptr ? "the backend by default" : "");
    if (backend != nullptr) draft.use(*backend, "strategy.expert_dispatcher");
    if (deep != nullptr) draft.use(*deep, "strategy.expert_dispatcher");
    return;
  }
  for (const Setting* other : {backend, deep}) {
    if (other != nullptr) draft.leave(*other, "only with --moe-token-dispatcher-type flex");
  }
  const std::string name = kind.starts_with("alltoall") ? "alltoall" : kind;
  options.put(setting, "strategy.expert_dispatcher", name, "", "the program's default");
}

// Judges options of experts for a model without experts, or with experts stated elsewhere.
void leave_experts(MegatronReading& reading, const MegatronOptions::Names& names) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const std::int64_t ranks = options.count(names).value_or(1);
  if (options.said(names) != nullptr) draft.take(*options.said(names), "strategy.expert", std::to_string(ranks));
  if (ranks > 1) {
    draft.obstruct(options.said(names)->where, "expert parallelism of a model whose experts are not said");
    if (const auto divided = options.count({"expert-tensor-parallel-size"})) {
      draft.take(*options.said({"expert-tensor-parallel-size"}), "strategy.expert_tensor", std::to_string(*divided));
    }
  }
  if (ranks != 1) return;
  options.leave_each(
      {"expert-tensor-parallel-size", "expert-tensor-parallel-num-weight-shards", "moe-token-dispatcher-type",
       "overlap-moe-expert-parallel-comm", "moe-expert-rank-capacity-factor", "moe-paged-stash",
       "moe-paged-stash-buffer-size-factor-cuda", "moe-paged-stash-buffer-size-factor-cpu"},
      "without experts");
}

void read_expert_parallelism(MegatronReading& reading) {
  const MegatronOptions::Names names = {"expert-model-parallel-size", "moe-expert-parallel-size"};
  if (reading.experts == 0) return leave_experts(reading, names);
  reading.options.read("expert-model-parallel-size");
  const Setting* divided = reading.deepspeed ? reading.options.flag({"enable-expert-tensor-parallelism"}) : nullptr;
  if (divided != nullptr) reading.draft.use(*divided, "tensor ranks divide each expert");
  if (reading.deepspeed && divided == nullptr) {
    reading.count("expert-tensor-parallel-size", 1, "Megatron-DeepSpeed does not divide experts over tensor ranks");
  }
  reading.options.read("expert-tensor-parallel-size");
  reading.options.read("expert-tensor-parallel-num-weight-shards");
  read_dispatcher(reading);
  reading.options.read("overlap-moe-expert-parallel-comm");
  reading.options.read_part("rooms of experts");
}

void read_fsdp(MegatronReading& reading, const Setting& fsdp) {
  if (reading.options.said({"data-parallel-sharding-strategy"}) == nullptr)
    reading.draft.take(fsdp, "strategy.zero", "0", "--data-parallel-sharding-strategy is no_shard by default");
  reading.options.read("data-parallel-sharding-strategy");
  if (const Setting* other = reading.options.flag({"use-distributed-optimizer"}))
    reading.draft.use(*other, "--data-parallel-sharding-strategy says more");
}

void read_zero(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  if (const Setting* fsdp = options.flag({"use-megatron-fsdp", "use-custom-fsdp"})) return read_fsdp(reading, *fsdp);
  options.leave_each({"data-parallel-sharding-strategy"}, "without --use-megatron-fsdp");
  const Setting* config = options.said({"deepspeed-config"});
  reading.options.read("zero-stage");
  if (!word_under(draft, "strategy.zero").empty()) {
    if (config != nullptr) draft.use(*config, "--zero-stage says the stage");
    return;
  }
  if (const Setting* setting = options.flag({"use-distributed-optimizer"}))
    return draft.take(*setting, "strategy.zero", "1");
  const bool divided = options.word({"optimizer"}).value_or("") == "dist_muon";
  draft.assume("strategy.zero", divided ? "1" : "0",
               divided             ? "dist_muon divides its state"
               : config != nullptr ? "no --zero-stage: the file of --deepspeed_config may say more"
                                   : "no --use-distributed-optimizer");
  if (config != nullptr)
    draft.doubt(*config, "a file of settings that is not read here: give it together with this one if it says more");
}

void read_instances(MegatronReading& reading) {
  const std::int64_t zero = reading.number_under("strategy.zero");
  const auto instances = reading.options.count({"num-distributed-optimizer-instances"});
  if (!instances) return;
  const Setting& setting = *reading.options.said({"num-distributed-optimizer-instances"});
  if (*instances <= 1 || zero == 0)
    return reading.draft.leave(setting, zero == 0 ? "without a distributed optimizer" : "one group");
  const auto replicas = reading.replicas();
  if (replicas && *replicas % *instances == 0) {
    return reading.draft.take(setting, "strategy.zero_group", std::to_string(*replicas / *instances),
                              fmt::format("{} replicas in {} groups", *replicas, *instances));
  }
  reading.draft.doubt(setting, "how many ranks a group has follows from the number of GPUs: say --nodes");
  reading.draft.obstruct(setting.where,
                         "--num-distributed-optimizer-instances: how many ranks a group has follows from the number of "
                         "GPUs, which --nodes says");
}

// Reads the modules whose inputs wait on the host. Transformer Engine joins a norm with the product behind it
// (gpt_layer_specs.py): then "attn_norm" and "mlp_norm" find no module of their own, and "qkv_linear" saves what the
// norm reads, too. Norms in front of latent attention and of experts stand alone.
void read_offloaded_modules(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const Setting* const flag = options.flag({"fine-grained-activation-offloading"});
  if (flag == nullptr) return options.leave_each({"offload-modules"}, "without --fine-grained-activation-offloading");
  const Setting* const said = options.said({"offload-modules"});
  if (said == nullptr) return draft.obstruct(flag->where, flag->text + " needs --offload-modules, which is not there");
  const bool joined = options.word({"transformer-impl"}).value_or("transformer_engine") != "local";
  const bool latent = options.flag({"multi-latent-attention"}) != nullptr;
  const OptionEntry& entry = options.entry("offload-modules");
  std::vector<std::string> taken;
  bool left = false;
  for (const std::string& word : words_of(said->value)) {
    const std::optional<OptionMeaning> known = entry.meaning_of(word);
    if (!known) return draft.obstruct(said->where, fmt::format("--offload-modules: there is no module '{}'", word));
    const bool alone = !joined || (known->word == "mlp_norm" ? reading.experts > 0 : latent);
    const bool norm = known->word == "attn_norm" || known->word == "mlp_norm";
    left |= norm && !alone;
    if (norm && !alone) continue;
    if (known->word == "qkv_linear" && !alone) taken.emplace_back("attn_norm");
    taken.push_back(known->word);
  }
  draft.use(*flag, "with --offload-modules");
  const std::string reason = left ? "norms that are part of the products behind them are no modules" : "";
  if (taken.empty()) return draft.leave(*said, reason);
  draft.take(*said, "strategy.offload_modules", list_value(taken, said->value.where), reason);
}

}  // namespace

void read_megatron_strategy(MegatronReading& reading) {
  reading.options.read_part("ranks");
  reading.options.read_part("sequence");
  read_expert_parallelism(reading);
  read_zero(reading);
  read_instances(reading);
  reading.options.read_part("overlaps");
  reading.options.read_part("offload");
  if (!reading.deepspeed) read_offloaded_modules(reading);
}

}  // namespace mirfak
