// DeepSpeed v0.19.5: runtime/constants.py, runtime/config.py (train_batch_size = micro batch x accumulation x data
// ranks), runtime/zero/config.py (overlap_comm is on by default at stage 3), runtime/precision_config.py.

#include "import/deepspeed_json.hpp"

#include "import/gpt_neox.hpp"
#include "import/json_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxSize = 1 << 30;
constexpr std::int64_t kMaxParts = 1 << 20;  // sequences per GPU, steps, ranks
constexpr std::string_view kModelFile = "config.json";

bool says_auto(const Option& option) {
  return option.value.kind == Value::Kind::scalar && option.value.scalar == "auto";
}

}  // namespace

DeepSpeedReader::DeepSpeedReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context,
                                 std::string prefix, std::string around)
    : facts_(facts),
      context_(context),
      options_(draft, facts.defaults(), "DeepSpeed", std::move(prefix)),
      around_(std::move(around)) {}

void DeepSpeedReader::read() {
  read_ranks();
  read_sharding();
  read_batch();
  read_precision();
  read_optimizer();
  facts_.judge_rest(options_.draft(), options_.prefix());
}

bool DeepSpeedReader::is_left_to_others(const Option& option, std::string_view key) {
  const bool nothing = option.setting == nullptr && option.value.kind == Value::Kind::null;
  if (!nothing && !says_auto(option)) return false;
  if (!options_.said(key).empty()) {
    options_.use(option, fmt::format("{} says it", around_));
  } else {
    options_.doubt(option, "auto: what the program that calls DeepSpeed says, whose settings are not here");
  }
  return true;
}

std::optional<std::int64_t> DeepSpeedReader::size_of(std::string_view name, std::string_view key) {
  const Option option = options_.option(name);
  if (is_left_to_others(option, key)) return std::nullopt;
  return options_.integer(option, 1, name == "train_batch_size" ? kMaxSize : kMaxParts);
}

void DeepSpeedReader::put(const Option& option, std::string_view key, const std::string& value,
                          const std::string& reason) {
  const std::string before = around_.empty() ? "" : options_.said(key);
  if (before.empty()) return options_.put(option, key, value, reason);
  if (option.setting == nullptr) return;
  if (before != value) {
    options_.fail(option, fmt::format("auto, or what {} says ({}: {})", around_, key, before));
  }
  options_.use(option, fmt::format("as {} says", around_));
}

bool DeepSpeedReader::enabled(std::string_view name) {
  const Option option = options_.option(name);
  return !says_auto(option) && options_.flag(option);
}

void DeepSpeedReader::read_ranks() {
  const Option tensor = options_.option("tensor_parallel.autotp_size");
  const Option sequence = options_.option("sequence_parallel_size");
  const std::int64_t tensors = std::max<std::int64_t>(1, options_.integer(tensor, 0, kMaxParts));
  const std::int64_t contexts = options_.integer(sequence, 1, kMaxParts);
  if (tensors > 1) put(tensor, "strategy.tensor", std::to_string(tensors));
  if (tensors == 1) options_.leave(tensor, "no tensor ranks");
  if (contexts > 1) {
    put(sequence, "strategy.context", std::to_string(contexts));
    options_.put(sequence, "strategy.context_communication", "a2a");
  } else {
    options_.leave(sequence, "sequences lie on one rank");
  }
  model_ranks_ = tensors * contexts;
}

void DeepSpeedReader::read_sharding() {
  const Option option = options_.option("zero_optimization.stage");
  const std::int64_t stage = options_.integer(option, 0, 3);
  // The stage that the surrounding program states is at most a guess.
  options_.put(option, "strategy.zero", std::to_string(stage));
  read_offload(stage);
  read_overlap(stage);
  read_groups(stage);
}

void DeepSpeedReader::read_offload(std::int64_t stage) {
  const Option old = options_.option("zero_optimization.cpu_offload");
  const Option device = options_.option("zero_optimization.offload_optimizer.device");
  const Option ratio = options_.option("zero_optimization.offload_optimizer.ratio");
  const std::string where = options_.word(device, {"none", "cpu", "nvme"});
  const bool by_old_name = old.setting != nullptr && options_.flag(old);
  const Option& said = by_old_name ? old : device;
  if (old.setting != nullptr && !by_old_name) options_.leave(old, "nothing lies on the host");
  if (where == "nvme") {
    options_.doubt(device, "no prediction has an optimizer on disks");
  } else if ((where == "cpu" || by_old_name) && stage > 0) {
    const double share = stage == 3 ? options_.number(ratio, 0, 1) : 1;
    put(said, "strategy.offload_optimizer", fmt::format("{}", share));
    options_.use(ratio, stage == 3 ? "the share on the host" : "only at stage 3");
  } else {
    options_.leave(device, stage > 0 ? "nothing lies on the host" : "only with ZeRO");
  }
  const Option parameters = options_.option("zero_optimization.offload_param.device");
  if (options_.word(parameters, {"none", "cpu", "nvme"}) == "none" || stage < 3) {
    return options_.leave(parameters, stage < 3 ? "only at stage 3" : "parameters lie on the GPUs");
  }
  options_.doubt(parameters, "no prediction has parameters on the host");
}

void note_no_overlap(ImportDraft& draft, const Setting* said, std::int64_t stage) {
  if (stage < 2) return;
  draft.notes.push_back(
      {said == nullptr ? Location{} : said->where,
       fmt::format(
           "{}: predictions reduce gradients of ZeRO {} during the backward passes all the same. Without overlap each "
           "microbatch takes longer by the whole reduction: 2 bytes of every parameter, over the slowest link between "
           "data ranks",
           said == nullptr ? "overlap_comm is not said, and off by default" : said->text, stage)});
}

void DeepSpeedReader::read_overlap(std::int64_t stage) {
  const Option overlap = options_.option("zero_optimization.overlap_comm");
  const bool auto_or_none = says_auto(overlap) || (overlap.setting != nullptr && overlap.is_none());
  const bool off = overlap.setting != nullptr && !auto_or_none ? !options_.flag(overlap) : stage < 3;
  if (off) note_no_overlap(options_.draft(), overlap.setting, stage);
  if (overlap.setting != nullptr && stage > 0 && !auto_or_none) {
    return options_.put(overlap, "strategy.overlap_grad_reduce", options_.flag(overlap) ? "true" : "false");
  }
  options_.leave(overlap, "only with ZeRO");
  if (stage > 0)
    options_.put(overlap, "strategy.overlap_grad_reduce", stage == 3 ? "true" : "false", "DeepSpeed's default");
}

void DeepSpeedReader::read_groups(std::int64_t stage) {
  const Option group = options_.option("zero_optimization.mics_shard_size");
  const std::int64_t size = options_.integer(group, -1, kMaxSize);
  if (size < 1 || stage < 3) return options_.leave(group, "no groups");
  options_.put(group, "strategy.zero_group", std::to_string(size));
}

// Derives each of train_batch_size, micro batch and accumulation from the other two and the data ranks.
void DeepSpeedReader::read_batch() {
  const std::optional<std::int64_t> micro = size_of("train_micro_batch_size_per_gpu", "strategy.micro_batch");
  const std::optional<std::int64_t> total = size_of("train_batch_size", "training.global_batch");
  const Option steps_option = options_.option("gradient_accumulation_steps");
  std::optional<std::int64_t> steps;
  if (says_auto(steps_option)) {
    options_.use(steps_option, around_.empty() ? "follows from the batches" : "as " + around_ + " says");
  } else if (steps_option.setting != nullptr || !total || !micro) {
    steps = options_.integer(steps_option, 1, kMaxParts);
  }
  if (micro) put(options_.option("train_micro_batch_size_per_gpu"), "strategy.micro_batch", std::to_string(*micro));
  if (total) put(options_.option("train_batch_size"), "training.global_batch", std::to_string(*total));
  if (steps) options_.use(steps_option, "microbatches of a data rank");
  if (!micro || !total) put_batch(micro ? micro : total, steps);
}

void DeepSpeedReader::put_batch(std::optional<std::int64_t> known, std::optional<std::int64_t> steps) {
  const bool has_micro = !options_.said("strategy.micro_batch").empty();
  const bool has_total = !options_.said("training.global_batch").empty();
  if (has_micro == has_total || !known) return;
  const std::optional<std::int64_t> ranks =
      context_.gpus && *context_.gpus % model_ranks_ == 0 ? std::optional(*context_.gpus / model_ranks_) : std::nullopt;
  const Option option = options_.option(has_micro ? "train_micro_batch_size_per_gpu" : "train_batch_size");
  if (!ranks || !steps) {
    const Location where = option.setting == nullptr ? Location{} : option.setting->where;
    const std::string lacking = has_micro ? "train_batch_size" : "train_micro_batch_size_per_gpu";
    return options_.draft().obstruct(
        where, fmt::format("{} follows from the number of GPUs{}", lacking,
                           steps ? ": give the nodes" : " and the accumulation, which is left to others"));
  }
  const std::int64_t parts = *ranks * *steps;
  if (has_micro) {
    return options_.put(option, "training.global_batch", std::to_string(*known * parts),
                        fmt::format("{} in each of {} steps on {} data ranks", *known, *steps, *ranks));
  }
  if (*known % parts != 0) {
    const Location where = option.setting == nullptr ? Location{} : option.setting->where;
    return options_.draft().obstruct(
        where, fmt::format("{} sequences are no multiple of {} data ranks times {} steps", *known, *ranks, *steps));
  }
  options_.put(option, "strategy.micro_batch", std::to_string(*known / parts),
               fmt::format("a share of {} data ranks in {} steps", *ranks, *steps));
}

void DeepSpeedReader::read_precision() {
  const Option half = options_.option("fp16.enabled");
  const Option bfloat = options_.option("bf16.enabled");
  const Option amp = options_.option("amp.enabled");
  const Option cast = options_.option("torch_autocast.enabled");
  const bool known = !options_.said("training.precision").empty();
  const bool left = says_auto(half) || says_auto(bfloat);
  if (enabled("fp16.enabled") && enabled("bf16.enabled")) options_.fail(bfloat, "fp16 or bf16, not both");
  std::string precision = "fp32";
  if (enabled("fp16.enabled") || enabled("amp.enabled")) precision = "fp16";
  if (enabled("bf16.enabled")) precision = "bf16";
  const Option& says = enabled("bf16.enabled") ? bfloat : enabled("amp.enabled") ? amp : half;
  const bool cast_on = enabled("torch_autocast.enabled");
  if (cast_on) options_.doubt(cast, "PyTorch casts operator by operator, and keeps parameters in fp32");
  if (left && !enabled("bf16.enabled") && !enabled("fp16.enabled")) {
    for (const Option& option : {half, bfloat}) {
      if (!says_auto(option)) continue;
      if (known) options_.use(option, fmt::format("as {} says", around_));
      if (!known)
        options_.doubt(option, "auto: what the program that calls DeepSpeed says, whose settings are not here");
    }
    return;
  }
  put(says, "training.precision", precision);
  for (const Option& option : {half, bfloat, amp}) {
    if (option.name != says.name) options_.leave(option, "off");
  }
  if (!cast_on) options_.leave(cast, "off");
  const Option sums = options_.option("data_types.grad_accum_dtype");
  if (sums.setting == nullptr) return;
  options_.put(sums, "training.gradient_precision", options_.word(sums, {"fp32", "bf16", "fp16"}));
}

void DeepSpeedReader::read_optimizer() {
  if (options_.said("training.framework").empty()) {
    const Option framework = options_.option("framework");
    options_.put(framework, "training.framework", facts_.section("framework").scalar);
  }
  const Option type = options_.option("optimizer.type");
  const std::string name = options_.word(type);
  const Value& optimizers = facts_.section("optimizers");
  const auto at = std::find_if(optimizers.fields.begin(), optimizers.fields.end(), [&](const Value::Field& field) {
    return field.key.size() == name.size() && std::equal(name.begin(), name.end(), field.key.begin(),
                                                         [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  });
  if (at == optimizers.fields.end()) return options_.doubt(type, "mirfak has no optimizer of this name");
  const Value* note = at->value.find("note");
  if (type.setting == nullptr && !options_.said("training.optimizer").empty()) return;
  put(type, "training.optimizer", at->value.find("is")->scalar);
  if (note != nullptr) options_.doubt(type, note->scalar);
}

std::optional<Setting> model_among(std::span<const ImportFile> files) {
  for (const ImportFile& file : files) {
    if (!is_model_file(file.text, file.name)) continue;
    const Location where{file.name, 1, 1};
    return Setting{std::string(kModelFile), scalar_value(std::filesystem::absolute(file.name).string(), where), where,
                   file.name};
  }
  return std::nullopt;
}

void take_model(std::span<const ImportFile> files, ImportDraft& draft) {
  const Setting* model = draft.find(kModelFile);
  if (model != nullptr) draft.take(*model, "model", model->value);
  if (model == nullptr) {
    draft.obstruct({files.front().name, 1, 1},
                   "it does not say what the model is: give its config.json as well, or --set model=NAME");
  }
}

bool is_deepspeed_json(const ImportFile& file) {
  const std::size_t start = file.text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || file.text[start] != '{' || is_neox_file(file)) return false;
  constexpr std::string_view kKeys[] = {"\"zero_optimization\"",
                                        "\"train_batch_size\"",
                                        "\"gradient_accumulation_steps\"",
                                        "\"train_micro_batch_size_per_gpu\"",
                                        "\"steps_per_print\"",
                                        "\"zero_allow_untested_optimizer\""};
  const bool has = std::any_of(std::begin(kKeys), std::end(kKeys),
                               [&](std::string_view key) { return file.text.find(key) != std::string::npos; });
  // Settings of Hugging Face's Trainer also have a key gradient_accumulation_steps.
  return has && file.text.find("\"per_device_train_batch_size\"") == std::string::npos;
}

ImportDraft read_deepspeed_json(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  const ProgramFacts facts(context.sources, "deepspeed");
  std::vector<Setting> settings = settings_of(parse_json_file(file.text, file.name, context.environment));
  if (std::optional<Setting> model = model_among(files.subspan(1))) settings.push_back(std::move(*model));
  ImportDraft draft(std::move(settings));
  take_model(files, draft);
  DeepSpeedReader(draft, facts, context, "", "").read();
  return draft;
}

}  // namespace mirfak
