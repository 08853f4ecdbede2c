// Sources of the valid combinations: deepspeed/runtime/pipe/engine.py of DeepSpeed v0.19.8, megatron/arguments.py of
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

LaunchOptions settings(const Job& job, const OptionList& keys) {
  const Strategy& s = job.strategy;
  LaunchOptions out;
  out.value("gradient_accumulation_steps", microbatches(s, job.training));
  if (s.zero > 0) out.value("zero_optimization.overlap_comm", s.zero > 1 || s.overlap_grad_reduce);
  return written_options(job, keys, std::move(out));
}

// Returns the settings as a JSON with a section for each part of a name before a dot.
std::string json_text(const LaunchOptions& settings, const OptionList& keys) {
  using Form = OptionEntry::Form;
  Json out;
  for (const LaunchOption& setting : settings.all()) {
    const Form form = keys.find(setting.name)->form;
    const std::string& word = setting.words.front();
    std::string path = "/" + setting.name;
    std::replace(path.begin(), path.end(), '.', '/');
    Json& at = out[Json::json_pointer(path)];
    if (form == Form::number) at = std::stod(word);
    if (form == Form::count || form == Form::flag) at = Json::parse(word);
    if (form == Form::word) at = word;
  }
  return out.dump(2) + "\n";
}

}  // namespace

LaunchProgram deepspeed_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "megatron-deepspeed");
  const OptionList& keys = option_list(hardware, "deepspeed");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.comments = {list.title(), keys.title(), world_comment(job)};
  require_possible(job, list);
  require_possible(job, keys);
  require_job(job);
  out.options = arguments(job, list);
  list.require(out.options);
  const LaunchOptions json = settings(job, keys);
  keys.require(json);
  out.files.push_back({"ds_config.json", json_text(json, keys)});
  return out;
}

}  // namespace mirfak
