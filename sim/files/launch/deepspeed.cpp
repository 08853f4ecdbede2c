// Sources of the valid combinations: deepspeed/runtime/pipe/engine.py of DeepSpeed v0.19.5, megatron/arguments.py of
// Megatron-DeepSpeed.

#include "launch/launch_targets.hpp"
#include "launch/option_writer.hpp"
#include "strategy/rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Checks rules that no list of refusals can state.
void require_job(const Job& job) {
  const Strategy& s = job.strategy;
  const bool experts = job.model.mixture.experts > 0;
  require_expressible(!experts || !s.expert_span().tensor, "strategy.expert",
                      "DeepSpeed's expert-parallel groups do not take tensor ranks", "choose expert_tensor: tensor");
  require_expressible(s.recompute == Recompute::none || s.partly_recomputed() == 0, "strategy.recompute_layers",
                      "Megatron-DeepSpeed recomputes all layers or none", "leave it out");
  const bool groups = s.zero > 0 && s.shards() < s.replicas();
  require_expressible(!groups || s.zero == 3, "strategy.zero_group",
                      "DeepSpeed shards in groups (MiCS) at stage 3 only", "leave it out");
}

LaunchOptions arguments(const Job& job, const OptionList& list) {
  LaunchOptions out;
  out.value("--max-position-embeddings", std::max(job.model.max_sequence, job.training.sequence_length));
  if (job.strategy.recompute == Recompute::full) {
    const int layers = std::max(1, job.strategy.recompute_layers);
    out.value("--checkpoint-num-layers", layers);
    out.value("--recompute-num-layers", layers);
  }
  out.flag("--deepspeed");
  out.value("--deepspeed_config", "ds_config.json");
  return written_options(job, list, std::move(out));
}

Json zero_json(const Strategy& s) {
  Json zero = {{"stage", s.zero}};
  if (s.zero > 0) zero["overlap_comm"] = s.zero > 1 || s.overlap_grad_reduce;
  if (s.zero > 0 && s.shards() < s.replicas()) zero["mics_shard_size"] = s.shards();
  if (s.offload_optimizer == 0) return zero;
  Json& offload = zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (s.zero == 3) offload["ratio"] = s.offload_optimizer;
  return zero;
}

Json config(const Job& job) {
  const Strategy& s = job.strategy;
  Json out = {{"train_batch_size", job.training.global_batch},
              {"train_micro_batch_size_per_gpu", s.micro_batch},
              {"gradient_accumulation_steps", microbatches(s, job.training)},
              {"zero_optimization", zero_json(s)}};
  const std::string& precision = job.training.precision;
  if (precision == "fp32") return out;
  out[precision] = {{"enabled", true}};
  if (gradient_bytes(job) == 4) out["data_types"] = {{"grad_accum_dtype", "fp32"}};
  return out;
}

// Checks the keys of the JSON's sections, by their names joined with a dot.
void require_keys(const OptionList& keys, const Json& json) {
  for (const auto& [name, value] : json.items()) {
    keys.require(name, {});
    if (!value.is_object()) continue;
    for (const auto& entry : value.items()) {
      const Json& inner = entry.value();
      keys.require(name + "." + entry.key(),
                   inner.is_string() ? std::vector{inner.get<std::string>()} : std::vector<std::string>{});
    }
  }
}

}  // namespace

LaunchProgram deepspeed_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "megatron-deepspeed");
  const OptionList& keys = option_list(hardware, "deepspeed");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.comments = {list.title(), keys.title(), world_comment(job)};
  require_possible(job, list);
  require_job(job);
  out.options = arguments(job, list);
  list.require(out.options);
  const Json json = config(job);
  require_keys(keys, json);
  out.files.push_back({"ds_config.json", json.dump(2) + "\n"});
  return out;
}

}  // namespace mirfak
