#include "import/megatron_reading.hpp"
#include "import/number_words.hpp"

#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

// Returns the words of a list that the table knows, as mirfak's; `others`: the rest, joined.
std::vector<std::string> known_words(const OptionEntry& entry, const Setting& setting, std::string& others) {
  std::vector<std::string> out;
  for (const std::string& word : words_of(setting.value)) {
    const std::optional<OptionMeaning> known = entry.meaning_of(word);
    if (known) out.push_back(known->word);
    if (!known) others += (others.empty() ? "" : ", ") + word;
  }
  return out;
}

void read_selective(MegatronReading& reading) {
  const Setting* setting = reading.options.said({"recompute-modules"});
  if (setting == nullptr)
    return reading.draft.assume("strategy.recompute_modules", list_value<std::string>({"core_attn"}, {}),
                                "the program's default");
  std::string others;
  const std::vector<std::string> taken = known_words(reading.options.entry("recompute-modules"), *setting, others);
  if (!taken.empty())
    reading.draft.take(*setting, "strategy.recompute_modules", list_value(taken, setting->value.where));
  if (!others.empty())
    reading.draft.doubt(*setting, fmt::format("mirfak does not recompute {} by itself: it is left out", others));
}

// Returns the layers of the largest chunk if layers are evenly divided.
std::int64_t largest_chunk(MegatronReading& reading) {
  const std::int64_t chunks = std::max<std::int64_t>(1, reading.number_under("strategy.virtual_pipeline"));
  const std::int64_t parts = reading.pipeline * chunks;
  return std::max<std::int64_t>(1, (reading.layers + parts - 1) / parts);
}

// Reads full recomputation: the method, and the layers of a group (uniform) or of a chunk (block).
void read_full(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const MegatronOptions::Names methods = {"recompute-method", "activations-checkpoint-method"};
  const MegatronOptions::Names counts = {"recompute-num-layers", "activations-checkpoint-num-layers",
                                         "checkpoint-num-layers"};
  const std::string method = options.word(methods).value_or("uniform");
  const std::int64_t layers = options.count(counts).value_or(1);
  const Setting* setting = options.said(methods);
  const Setting* number = options.said(counts);
  if (method == "block" && number != nullptr && layers == 0) {
    if (setting != nullptr) reading.draft.use(*setting, "none of a chunk's layers");
    return reading.draft.take(*number, "strategy.recompute", "none", "none of a chunk's layers");
  }
  if (method == "block" && number != nullptr && layers >= largest_chunk(reading)) {
    if (setting != nullptr) reading.draft.use(*setting, "all of a chunk's layers");
    return reading.draft.use(*number, "all of a chunk's layers");
  }
  if (method == "uniform" && layers <= 1) {
    if (setting != nullptr) reading.draft.use(*setting, "each layer from its own input");
    if (number != nullptr) reading.draft.use(*number, "each layer from its own input");
    return;
  }
  options.put(setting, "strategy.recompute_method", method, "", "the program's default");
  options.put(number, "strategy.recompute_layers", std::to_string(layers), "", "the program's default");
}

void leave_recomputation(MegatronReading& reading) {
  reading.options.leave_each({"recompute-method", "recompute-num-layers", "recompute-modules", "checkpoint-num-layers",
                              "activations-checkpoint-num-layers"},
                             "without --recompute-granularity");
}

void read_recomputation(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  reading.options.read_part("kept inputs");
  const MegatronOptions::Names old = {"checkpoint-activations", "activations-checkpoint-method"};
  const Setting* setting = options.said({"recompute-granularity", "activations-checkpoint-granularity"});
  std::string granularity = setting == nullptr ? "" : word_of(setting->value);
  if (setting == nullptr && (setting = options.flag({"recompute-activations"})) != nullptr) granularity = "selective";
  if (setting == nullptr && (setting = options.flag({"moe-layer-recompute"})) != nullptr) granularity = "experts";
  if (setting == nullptr && (setting = options.said(old)) != nullptr) granularity = "full";
  if (setting == nullptr) {
    draft.assume("strategy.recompute", "none", "the program's default");
    return leave_recomputation(reading);
  }
  if (const Setting* more = options.flag({"checkpoint-activations"}))
    draft.take(*more, "strategy.recompute", granularity);
  if (granularity == "full") {
    draft.take(*setting, "strategy.recompute", "full");
    return read_full(reading);
  }
  draft.take(*setting, "strategy.recompute", "selective");
  if (granularity == "experts")
    return draft.take(*setting, "strategy.recompute_modules", list_value<std::string>({"moe"}, setting->where));
  if (const Setting* flag = options.flag({"recompute-activations"})) draft.use(*flag, "selective");
  read_selective(reading);
}

void read_narrow(MegatronReading& reading) {
  ImportDraft& draft = reading.draft;
  reading.options.read_part("four bits");
  const Setting* eight = reading.options.said({"fp8-format", "fp8-hybrid", "fp8-e4m3"});
  const Setting* recipe = reading.options.said({"fp8-recipe"});
  if (eight == nullptr) return reading.options.leave_each({"fp8-recipe"}, "without --fp8-format");
  const std::optional<OptionMeaning> known =
      reading.options.entry("fp8-recipe").meaning_of(recipe == nullptr ? "delayed" : word_of(recipe->value));
  if (!known) return draft.doubt(*recipe, "a recipe that mirfak does not know");
  draft.take(*eight, "training.precision", known->word, recipe == nullptr ? "the recipe by default: delayed" : "");
  if (recipe != nullptr) draft.take(*recipe, "training.precision", known->word);
}

void read_gradients(MegatronReading& reading, std::string_view precision) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const Setting* wide = options.flag({"accumulate-allreduce-grads-in-fp32"});
  const Setting* narrow = options.flag({"grad-reduce-in-bf16"});
  const Setting* main = options.said({"main-grads-dtype"});
  if (precision == "bf16" && narrow != nullptr) return draft.take(*narrow, "training.gradient_precision", "bf16");
  if (wide != nullptr && precision != "fp32") draft.take(*wide, "training.gradient_precision", "fp32");
  if (wide != nullptr && precision == "fp32") draft.leave(*wide, "as they are");
  if (narrow != nullptr) draft.leave(*narrow, "in bf16 only");
  if (main != nullptr && word_of(main->value) == "fp32") draft.use(*main, "as gradients are");
  if (wide == nullptr && precision == "fp16" && !reading.deepspeed) {
    draft.assume("training.gradient_precision", "fp16",
                 "without --accumulate-allreduce-grads-in-fp32, in that of the parameters");
  }
}

void read_precision(MegatronReading& reading) {
  reading.options.read_part("precision");
  const std::string precision = word_under(reading.draft, "training.precision");
  read_narrow(reading);
  read_gradients(reading, precision);
  reading.options.read_part("kept layers");
}

// Reads layers in CUDA graphs, by the names of their modules.
void read_graphs(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const MegatronOptions::Names names = {"cuda-graph-modules", "cuda-graph-scope"};
  const Setting* setting = options.said({"cuda-graph-impl"});
  std::string kind = setting == nullptr ? "none" : word_of(setting->value);
  if (setting == nullptr && (setting = options.flag({"enable-cuda-graph", "external-cuda-graph"})) != nullptr)
    kind = "local";
  const Setting* modules = options.said(names);
  if (kind == "none") {
    if (modules != nullptr) draft.leave(*modules, "without --cuda-graph-impl");
    if (setting != nullptr) draft.use(*setting, "nothing is replayed");
    return;
  }
  std::string others;
  std::vector<std::string> parts;
  if (modules != nullptr) parts = known_words(reading.options.entry("cuda-graph-modules"), *modules, others);
  if (kind == "full_iteration") parts = {"full"};
  if (parts.empty()) parts = {"layer"};
  const bool whole = parts.front() == "full";
  draft.take(*setting, "training.cuda_graphs",
             whole ? scalar_value("full", setting->where) : list_value(parts, setting->where));
  if (modules == nullptr) return;
  draft.use(*modules, "in training.cuda_graphs");
  if (!others.empty()) draft.doubt(*modules, fmt::format("{} is taken with the rest of its layer", others));
}

// Reads the batch of an iteration: the stated batch, the last step of a schedule, or one microbatch on each replica.
void read_batch(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const auto batch = options.count({"global-batch-size"});
  const Setting* schedule = options.said({"step-batch-size-schedule"});
  const Setting* ramp = options.said({"rampup-batch-size"});
  reading.options.read("global-batch-size");
  if (ramp != nullptr) draft.use(*ramp, "iterations are those of the full batch, after the growth");
  if (schedule != nullptr) {
    const std::string text = word_of(schedule->value);
    const std::string last = text.substr(text.rfind(':') + 1);
    if (!batch && !last.empty()) draft.take(*schedule, "training.global_batch", last, "the last of the schedule");
    if (batch) draft.use(*schedule, "iterations are those of --global-batch-size");
    return;
  }
  if (batch) return;
  const auto micro = options.count({"micro-batch-size", "batch-size"}).value_or(1);
  if (const auto replicas = reading.replicas()) {
    const std::int64_t data = std::max<std::int64_t>(1, *replicas / reading.context);
    return draft.assume("training.global_batch", std::to_string(micro * data),
                        fmt::format("--global-batch-size is not said: {} of each of {} replicas", micro, data));
  }
  draft.obstruct(
      reading.run.where,
      "--global-batch-size is not said: it is one microbatch of each replica, whose number follows from --nodes");
}

// Reads the length of the training, in tokens: iterations of the global batch, samples, or tokens themselves.
void read_length(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  if (options.said({"rampup-batch-size", "step-batch-size-schedule"}) != nullptr)
    return;  // iterations of several sizes
  const auto length = static_cast<double>(reading.number_under("training.sequence_length"));
  const auto batch = static_cast<double>(reading.number_under("training.global_batch"));
  const auto take = [&](const MegatronOptions::Names& names, double each, const std::string& reason) {
    const Setting* setting = options.said(names);
    const std::optional<std::int64_t> count = setting == nullptr ? std::nullopt : options.count(names);
    const double tokens = static_cast<double>(count.value_or(0)) * each;
    if (tokens < 1) return false;
    reading.draft.take(*setting, "training.tokens", fmt::format("{:.17g}", tokens), reason);
    return true;
  };
  if (take({"train-tokens"}, 1, "")) return;
  if (take({"train-samples"}, length, "samples of the sequence length")) return;
  take({"train-iters"}, batch * length, "iterations of the global batch");
}

}  // namespace

void read_megatron_training(MegatronReading& reading) {
  read_batch(reading);
  read_precision(reading);
  read_graphs(reading);
  reading.options.read_part("optimizer");
  read_recomputation(reading);
  read_length(reading);
}

// Chooses the framework file by options that only some releases and programs have.
void read_megatron_framework(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  std::string name = "megatron-core";
  std::string reason = "options of Megatron Core, or none that only an older release has";
  const bool old = options.said({"DDP-impl", "activations-checkpoint-method", "checkpoint-activations"}) != nullptr;
  if (old) name = "megatron-lm-2021", reason = "options of a release of 2021 or 2022";
  if (options.flag({"use-megatron-fsdp"}) != nullptr) name = "megatron-fsdp", reason = "--use-megatron-fsdp";
  if (reading.deepspeed) {
    name = "megatron-deepspeed", reason = "--deepspeed";
    reading.draft.use(*options.flag({"deepspeed"}), "training.framework");
  }
  Value fusion;
  fusion.kind = Value::Kind::mapping;
  const auto put = [&](const std::string& key, const std::string& text) {
    fusion.fields.push_back({key, text == "[]" ? list_value<std::string>({}, {}) : scalar_value(text, {})});
  };
  const Setting* local = options.said({"transformer-impl"});
  const Setting* spec = options.said({"spec"});
  const bool by_torch =
      (local != nullptr && word_of(local->value) == "local") || (spec != nullptr && word_of(spec->value) == "local");
  const Setting* backend = options.said({"attention-backend"});
  const std::string kernels = backend == nullptr ? "" : word_of(backend->value);
  const bool core = name != "megatron-lm-2021" && name != "megatron-deepspeed";
  if (core && (by_torch || kernels == "unfused" || kernels == "local")) put("attention", "[]");
  if (core && by_torch) put("norms", "separate");
  if (core && options.flag({"cross-entropy-loss-fusion"}) != nullptr) put("cross_entropy", "true");
  if (core && options.flag({"no-gradient-accumulation-fusion"}) != nullptr) put("gradient_accumulation", "false");
  for (const Value::Field& habit : reading.run.fusion.fields) fusion.fields.push_back(habit);
  options.use_each({"transformer-impl", "spec", "attention-backend", "cross-entropy-loss-fusion",
                    "no-gradient-accumulation-fusion", "use-megatron-fsdp"},
                   "training.framework");
  if (fusion.fields.empty()) return reading.draft.assume("training.framework", name, reason);
  Value framework;
  framework.kind = Value::Kind::mapping;
  framework.fields.push_back({"like", scalar_value(name, {})});
  framework.fields.push_back({"fusion", std::move(fusion)});
  reading.draft.assume("training.framework", std::move(framework), reason + "; kernels as the options say");
}

}  // namespace mirfak
