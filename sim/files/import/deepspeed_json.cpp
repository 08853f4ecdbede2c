// DeepSpeed v0.19.5: runtime/constants.py, runtime/config.py (train_batch_size = micro batch x accumulation x data
// ranks), runtime/zero/config.py (overlap_comm is on by default at stage 3), runtime/precision_config.py.

#include "import/deepspeed_json.hpp"

#include "import/gpt_neox.hpp"
#include "import/json_file.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kModelFile = "config.json";
constexpr std::string_view kMicro = "train_micro_batch_size_per_gpu";
constexpr std::string_view kTotal = "train_batch_size";
constexpr std::string_view kNotHere = "auto: what the program that calls DeepSpeed says, whose settings are not here";

bool says_auto(const Option& option) {
  return option.value.kind == Value::Kind::scalar && option.value.scalar == "auto";
}

class DeepSpeedReader {
 public:
  DeepSpeedReader(ImportDraft& draft, const ImportContext& context, std::string prefix, std::string around)
      : context_(context),
        facts_(context.sources, "deepspeed"),
        options_(draft, option_list(context.sources.folders.hardware, "deepspeed"), "DeepSpeed", std::move(prefix)),
        around_(std::move(around)) {
    options_.stand_within(around_);
  }

  void read() {
    options_.read_part("ranks");
    model_ranks_ = std::max<std::int64_t>(1, options_.count("tensor_parallel.autotp_size")) *
                   options_.count("sequence_parallel_size");
    // The stage that the surrounding program states is at most a guess.
    options_.read("zero_optimization.stage");
    const std::int64_t stage = options_.count("zero_optimization.stage");
    read_offload(stage);
    options_.read_part("offload");
    read_parameters_on_disk();
    options_.read_part("exchanges");
    read_overlap(stage);
    options_.read("zero_optimization.mics_shard_size");
    read_batch();
    read_precision();
    if (options_.said("training.framework").empty()) {
      options_.draft().assume("training.framework", facts_.section("framework").scalar, "framework is not said");
    }
    options_.read("optimizer.type");
    facts_.judge_rest(options_.draft(), options_.prefix());
  }

 private:
  // Judges an option that states "auto": the surrounding program's value under `key` counts.
  void leave_to_others(const Option& option, std::string_view key, const std::string& reason) {
    const bool known = !options_.said(key).empty();
    if (known) options_.use(option, reason);
    if (!known) options_.doubt(option, std::string(kNotHere));
  }

  std::optional<std::int64_t> size_of(std::string_view name, std::string_view key) {
    const Option option = options_.option(name);
    const bool nothing = option.setting == nullptr && option.value.kind == Value::Kind::null;
    if (!nothing && !says_auto(option)) return options_.count(name);
    leave_to_others(option, key, fmt::format("{} says it", around_));
    return std::nullopt;
  }

  bool enabled(std::string_view name) {
    const Option option = options_.option(name);
    return !says_auto(option) && options_.flag(option);
  }

  void read_offload(std::int64_t stage) {
    const Option old = options_.option("zero_optimization.cpu_offload");
    const Option device = options_.option("zero_optimization.offload_optimizer.device");
    const std::string where = options_.word(device, options_.entry(device.name).takes);
    const bool by_old_name = old.setting != nullptr && options_.flag(old);
    if (!by_old_name) options_.leave(old, "nothing lies on the host");
    if (where == "nvme" && stage == 3) return read_disk(device);
    if (where == "nvme" && stage > 0) return options_.doubt(device, "disks are used at stage 3 only");
    if ((where != "cpu" && !by_old_name) || stage == 0) {
      return options_.leave(device, stage > 0 ? "nothing lies on the host" : "only with ZeRO");
    }
    const Option ratio = options_.option("zero_optimization.offload_optimizer.ratio");
    const std::string share = stage == 3 ? fmt::format("{}", options_.number(ratio, 0, 1)) : "1";
    options_.put_agreeing(by_old_name ? old : device, "strategy.offload_optimizer", share);
    options_.use(ratio, stage == 3 ? "the share on the host" : "only at stage 3");
  }

  void read_disk(const Option& device) {
    options_.put(device, "strategy.optimizer_on_disk", "true");
    options_.put_agreeing(device, "strategy.offload_optimizer", "1");
    const Option reads = options_.option("zero_optimization.offload_optimizer.pipeline_read");
    const Option writes = options_.option("zero_optimization.offload_optimizer.pipeline_write");
    const bool read = options_.flag(reads);
    const bool written = options_.flag(writes);
    if (read && written) {
      options_.put(reads, "strategy.overlap_disk", "true");
      return options_.use(writes, "with pipeline_read");
    }
    for (const Option& option : {reads, writes}) {
      if (option.setting == nullptr) continue;
      if (!options_.flag(option))
        options_.leave(option, "one piece after the other");
      else
        options_.doubt(option, "predictions read and write beside updates, or neither");
    }
  }

  void read_parameters_on_disk() {
    const Option device = options_.option("zero_optimization.offload_param.device");
    const bool on_disk = options_.word(device, options_.entry(device.name).takes) == "nvme";
    if (on_disk && !options_.said("strategy.offload_parameters").empty()) {
      options_.put(device, "strategy.parameters_on_disk", "true");
    }
  }

  void read_overlap(std::int64_t stage) {
    const Option overlap = options_.option("zero_optimization.overlap_comm");
    const bool chosen = overlap.setting != nullptr && !says_auto(overlap) && !overlap.is_none();
    const bool on = chosen ? options_.flag(overlap) : stage == 3;
    if (!on) note_no_overlap(options_.draft(), overlap.setting, stage);
    const std::string word = on ? "true" : "false";
    if (chosen && stage > 0) return options_.put(overlap, "strategy.overlap_grad_reduce", word);
    options_.leave(overlap, "only with ZeRO");
    if (stage > 0) options_.put(overlap, "strategy.overlap_grad_reduce", word, "DeepSpeed's default");
  }

  // Derives each of train_batch_size, micro batch and accumulation from the other two and the data ranks.
  void read_batch() {
    const std::optional<std::int64_t> micro = size_of(kMicro, "strategy.micro_batch");
    const std::optional<std::int64_t> total = size_of(kTotal, "training.global_batch");
    const Option steps_option = options_.option("gradient_accumulation_steps");
    std::optional<std::int64_t> steps;
    if (says_auto(steps_option)) {
      options_.use(steps_option, around_.empty() ? "follows from the batches" : "as " + around_ + " says");
    } else if (steps_option.setting != nullptr || !total || !micro) {
      steps = options_.count(steps_option.name);
    }
    if (micro) options_.read(kMicro);
    if (total) options_.read(kTotal);
    if (steps) options_.use(steps_option, "microbatches of a data rank");
    if (!micro || !total) put_batch(micro ? micro : total, steps);
  }

  void put_batch(std::optional<std::int64_t> known, std::optional<std::int64_t> steps) {
    const bool has_micro = !options_.said("strategy.micro_batch").empty();
    const bool has_total = !options_.said("training.global_batch").empty();
    if (has_micro == has_total || !known) return;
    const bool whole = context_.gpus && *context_.gpus % model_ranks_ == 0;
    const std::int64_t ranks = whole ? *context_.gpus / model_ranks_ : 0;
    const Option option = options_.option(has_micro ? kMicro : kTotal);
    const Location where = option.setting == nullptr ? Location{} : option.setting->where;
    if (!whole || !steps) {
      return options_.draft().obstruct(
          where, fmt::format("{} follows from the number of GPUs{}", has_micro ? kTotal : kMicro,
                             steps ? ": give the nodes" : " and the accumulation, which is left to others"));
    }
    const std::int64_t parts = ranks * *steps;
    if (has_micro) {
      return options_.put(option, "training.global_batch", std::to_string(*known * parts),
                          fmt::format("{} in each of {} steps on {} data ranks", *known, *steps, ranks));
    }
    if (*known % parts == 0) {
      return options_.put(option, "strategy.micro_batch", std::to_string(*known / parts),
                          fmt::format("a share of {} data ranks in {} steps", ranks, *steps));
    }
    options_.draft().obstruct(
        where, fmt::format("{} sequences are no multiple of {} data ranks times {} steps", *known, ranks, *steps));
  }

  void read_precision() {
    const Option half = options_.option("fp16.enabled");
    const Option bfloat = options_.option("bf16.enabled");
    const Option amp = options_.option("amp.enabled");
    const Option cast = options_.option("torch_autocast.enabled");
    const bool is_half = enabled(half.name);
    const bool is_bfloat = enabled(bfloat.name);
    const bool is_amp = enabled(amp.name);
    if (is_half && is_bfloat) options_.fail(bfloat, "fp16 or bf16, not both");
    const bool cast_on = enabled(cast.name);
    if (cast_on) options_.doubt(cast, "PyTorch casts operator by operator, and keeps parameters in fp32");
    if ((says_auto(half) || says_auto(bfloat)) && !is_half && !is_bfloat) {
      for (const Option& option : {half, bfloat}) {
        if (says_auto(option)) leave_to_others(option, "training.precision", fmt::format("as {} says", around_));
      }
      return;
    }
    const Option& says = is_bfloat ? bfloat : is_amp ? amp : half;
    options_.put_agreeing(says, "training.precision", is_bfloat ? "bf16" : is_half || is_amp ? "fp16" : "fp32");
    for (const Option& option : {half, bfloat, amp}) {
      if (option.name != says.name) options_.leave(option, "off");
    }
    if (!cast_on) options_.leave(cast, "off");
    options_.read("data_types.grad_accum_dtype");
  }

  const ImportContext& context_;
  ProgramFacts facts_;
  OptionReader options_;
  std::string around_;
  std::int64_t model_ranks_ = 1;  // ranks that hold one copy of the model together
};

}  // namespace

void read_deepspeed(ImportDraft& draft, const ImportContext& context, std::string prefix, std::string around) {
  DeepSpeedReader(draft, context, std::move(prefix), std::move(around)).read();
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
    draft.lack({files.front().name, 1, 1}, "model",
               "it does not say what the model is: give its config.json as well, or --set model=NAME");
  }
}

bool is_deepspeed_json(const ImportFile& file) {
  const std::size_t start = file.text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || file.text[start] != '{' || is_neox_file(file)) return false;
  // Settings of Hugging Face's Trainer also have a key gradient_accumulation_steps.
  return mentions(file,
                  {"\"zero_optimization\"", "\"train_batch_size\"", "\"gradient_accumulation_steps\"",
                   "\"train_micro_batch_size_per_gpu\"", "\"steps_per_print\"", "\"zero_allow_untested_optimizer\""}) &&
         !mentions(file, {"\"per_device_train_batch_size\""});
}

// Reads a DeepSpeed JSON. A Hugging Face config.json or a model file among the files gives the model.
static ImportDraft read_deepspeed_json(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  std::vector<Setting> settings = settings_of(parse_json_file(file.text, file.name, context.environment));
  if (std::optional<Setting> model = model_among(files.subspan(1))) settings.push_back(std::move(*model));
  ImportDraft draft(std::move(settings));
  take_model(files, draft);
  read_deepspeed(draft, context);
  return draft;
}

const ImportFormat kDeepSpeedJson = {"deepspeed-json",
                                     "DeepSpeed's configuration (ds_config.json), v0.19.5: \"zero_optimization\", ...",
                                     is_deepspeed_json, read_deepspeed_json};

}  // namespace mirfak
