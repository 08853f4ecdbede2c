// transformers v5: training_args.py; TRL v0.24: trainer/sft_config.py, trainer/model_config.py. The global batch is
// per_device_train_batch_size x gradient_accumulation_steps x data ranks.

#include "import/hugging_face.hpp"

#include "base/text.hpp"
#include "base/values.hpp"
#include "base/yaml.hpp"
#include "import/accelerate.hpp"
#include "import/adapter_targets.hpp"
#include "import/deepspeed_json.hpp"
#include "import/file_beside.hpp"
#include "import/head_options.hpp"
#include "import/hub_model.hpp"
#include "import/json_file.hpp"
#include "import/narrow_weights.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/preference_options.hpp"
#include "import/program_facts.hpp"
#include "import/program_identity.hpp"
#include "import/tool_kernels.hpp"
#include "import/tuning_tools.hpp"
#include "import/whole_modules.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kDeepSpeedPrefix = "deepspeed:";
constexpr std::int64_t kMostSequences = 1'000'000'000;  // of a batch

void add_with_prefix(std::vector<Setting>& out, std::vector<Setting> settings, std::string_view prefix) {
  for (Setting& setting : settings) {
    setting.name.insert(0, prefix);
    out.push_back(std::move(setting));
  }
}

class TrainerReader {
 public:
  // `own`: name and defaults of a program around the Trainer; null: the Trainer's. `program`: what it is. `script`: the
  // name of a user's own program, whose options of adapters are its own; empty: it is a known program, or no command
  // says.
  TrainerReader(ImportDraft& draft, const ProgramFacts& facts, const ProgramFacts* tool, const Value& own,
                std::string_view program, std::string_view script, const ImportContext& context,
                AccelerateSays accelerate)
      : facts_(facts),
        tool_(tool),
        program_(program),
        script_(script),
        context_(context),
        options_(draft, option_list(context.sources.folders.hardware, "hugging-face"), name_of(tool, own)),
        since_(own.find("since")),
        accelerate_(std::move(accelerate)) {
    Value defaults;
    if (tool != nullptr) defaults = tool->section("defaults");
    if (const Value* more = own.find("defaults")) {
      for (const Value::Field& field : more->fields) set_field(defaults, field.key, field.value);
    }
    if (!defaults.fields.empty()) options_.replace_defaults(defaults);
  }

  HubSharding read() {
    read_model();
    read_lengths();
    read_precision();
    options_.read("optim");
    read_projections();
    read_projections_of_tool();
    read_recomputation();
    read_images();
    read_adapters();
    read_frozen();
    read_preferences();
    read_sharding();
    read_batch();
    read_framework();
    if (tool_ != nullptr) tool_->judge_rest(options_.draft());
    if (tool_ == nullptr) options_.draft().allow_own_options();
    facts_.judge_rest(options_.draft());
    return sharding_;
  }

 private:
  static std::string name_of(const ProgramFacts* tool, const Value& own) {
    const std::string name = tool != nullptr ? tool->section("program").scalar : text_under(own, "program");
    return name.empty() ? "the Trainer" : name;
  }

  // Returns since when an option that no file states has this default; "" for the Trainer's own defaults.
  std::string since(const Option& option) const {
    return option.setting == nullptr && since_ != nullptr ? text_under(*since_, option.name) : "";
  }

  // Returns the framework with Liger's kernels, where the settings ask for them.
  Value with_liger(Value framework) {
    const Option liger = options_.option("use_liger_kernel");
    if (!options_.flag(liger)) {
      options_.leave(liger, "kernels are the framework file's");
      return framework;
    }
    const bool loss = kind_ == nullptr && !labels_ && (tool_ == nullptr || tool_->section("liger").scalar != "layers");
    options_.use(liger, fmt::format("norms, activations, rotary embedding{} are Liger's kernels",
                                    loss ? " and a loss in chunks" : ""));
    return with_habits(std::move(framework), facts_.section(loss ? "liger" : "liger_layers"));
  }

  void read_preferences() {
    const Value& section = (tool_ == nullptr ? facts_ : *tool_).section("preferences");
    kind_ = preference_kind(options_, section, program_);
    if (kind_ != nullptr) mirfak::read_preferences(options_, section, *kind_, context_.sources);
    if (kind_ == nullptr && tool_ != nullptr)
      labels_ = read_labels(options_, tool_->section("labels"), context_.sources);
    // Unless a rule of preferences has judged it.
    const std::vector<const Setting*> open = options_.draft().open();
    const Setting* const packing = options_.option("packing").setting;
    if (packing == nullptr || std::find(open.begin(), open.end(), packing) != open.end()) options_.read("packing");
  }

  // Returns the framework with TRL's loss, where TRL trains by it. Losses that compare answers are judged elsewhere.
  Value with_loss(Value framework) {
    const std::string habits = kind_ == nullptr ? "" : text_under(*kind_, "loss");
    if (!habits.empty()) return with_habits(std::move(framework), facts_.section(habits));
    if (kind_ != nullptr) return framework;
    const Option loss = options_.option("loss_type");
    const std::vector<std::string>& known = options_.entry(loss.name).takes;
    if (loss.is_none() || std::find(known.begin(), known.end(), options_.word(loss)) == known.end()) return framework;
    options_.use(loss, "head and loss in tiles, as TRL v1.16 computes them");
    return with_habits(std::move(framework), facts_.section("tiled_loss"));
  }

  // Reads the subspace of an optimizer that projects gradients, from optim_args: "rank=64, update_proj_gap=100".
  void read_projections() {
    const Option optim = options_.option("optim");
    const Value& facts = facts_.section("projected_gradients");
    if (optim.is_none() || !options_.word(optim).starts_with(text_under(facts, "optimizers"))) return;
    std::map<std::string, std::string> said = {{"rank", text_under(facts, "rank")},
                                               {"every", text_under(facts, "every")}};
    const Option args = options_.option("optim_args");
    const std::string text = args.is_none() ? std::string() : options_.word(args);
    for (const Value& item : words_at_commas(word_value(text)).items) {
      const std::size_t equals = item.scalar.find('=');
      const std::string key = text_under(*facts.find("words"), item.scalar.substr(0, equals));
      if (!key.empty() && equals != std::string::npos) said[key] = item.scalar.substr(equals + 1);
    }
    const std::string reason = "a subspace of the gradients has the states";
    for (const auto& [key, value] : said) options_.put(optim, "training.low_rank_gradients." + key, value, reason);
    if (!args.is_none()) options_.use(args, "dimensions of the subspace, and when it is found anew");
    const Option modules = options_.option("optim_target_modules");
    if (!modules.is_none()) options_.use(modules, "taken as all matrices of the layers");
  }

  // Reads the same by a switch and options of the tool's own.
  void read_projections_of_tool() {
    const Value& facts = tool_ == nullptr ? facts_.section("") : tool_->section("projected_gradients");
    if (facts.kind != Value::Kind::mapping) return;
    constexpr std::int64_t kMost = 1'000'000;
    const std::string optimizer = text_under(facts, "optimizer");
    const Option on = options_.option(optimizer.empty() ? text_under(facts, "switch") : "optim");
    const bool projects = optimizer.empty() ? options_.flag(on) : !on.is_none() && options_.word(on) == optimizer;
    for (const char* key : {"rank", "every"}) {
      const Value& entry = *facts.find(key);
      Option stated = options_.option(text_under(entry, "option"));
      if (!projects) {
        options_.leave(stated, "no gradients are projected");
        continue;
      }
      if (stated.is_none()) stated = {stated.name, on.setting, *entry.find("default")};
      options_.put(stated, fmt::format("training.low_rank_gradients.{}", key),
                   std::to_string(options_.integer(stated, 1, kMost)), "a subspace of the gradients has the states");
    }
    if (const Value* quantized = facts.find("quantized")) read_quantized_projections(*quantized, on, projects);
    if (!projects && optimizer.empty()) options_.leave(on, "no gradients are projected");
  }

  // Reads the option by which projectors are kept in a byte a value. `facts`: the `option` and its `default`; where it
  // counts only beside another one, that option (`with`) and the `optimizer` that it chooses.
  void read_quantized_projections(const Value& facts, const Option& on, bool projects) {
    Option stated = options_.option(text_under(facts, "option"));
    const std::string beside = text_under(facts, "with");
    bool counts = projects;
    if (!beside.empty()) {
      const Option with = options_.option(beside);
      counts = projects && options_.flag(with);
      if (counts) options_.put(with, "training.optimizer", text_under(facts, "optimizer"), "Q-GaLore has this one");
      if (!counts) options_.leave(with, "off");
    }
    if (!counts) return options_.leave(stated, "no projectors are quantized");
    if (stated.is_none()) stated = {stated.name, on.setting, *facts.find("default")};
    options_.put(stated, "training.low_rank_gradients.quantized_projectors", options_.flag(stated) ? "true" : "false",
                 "projectors in a byte a value");
  }

  void read_model() {
    read_hub_model(options_, "model_name_or_path", context_);
    const Value& own = (tool_ == nullptr ? facts_ : *tool_).section("towers");
    const bool named =
        read_tower(options_, own.kind == Value::Kind::mapping ? own : facts_.section("towers"), context_);
    const bool always = tool_ != nullptr && tool_->section("of_vision").scalar == "true";
    of_vision_ = named || always;
    if (of_vision_) judge_words_alone(options_.option("model_name_or_path"), named);
  }

  // Judges a model without a tower in a program that trains models with one. `named`: an option names the tower.
  void judge_words_alone(const Option& model, bool named) {
    const Location where = model.setting == nullptr ? Location{} : model.setting->where;
    const std::string said = options_.said("model");
    if (said.empty()) {
      options_.draft().notes.push_back(
          {where, fmt::format("{}: the model that is stated in its place has to have a tower: "
                              "a language model alone leaves out all images",
                              model.name)});
    } else if (!named && lacks_tower(options_.draft(), context_.sources)) {
      options_.draft().obstruct(
          where, fmt::format("{}: the program trains models with a tower for images, and {} has none", model.name,
                             excerpt(said)));
    }
  }

  void read_frozen() {
    if (tool_ != nullptr) return read_frozen_parts(options_, tool_->section("frozen"), context_, of_vision_);
    read_frozen_parts(options_, facts_.section(of_vision_ ? "frozen" : ""), context_, of_vision_);
  }

  // Reads the length of sequences that several samples fill up to it, by a switch and an option of the tool's own.
  // Returns true if the switch is on.
  bool read_packed_length() {
    const Value& packed = tool_ == nullptr ? facts_.section("") : tool_->section("packed");
    if (packed.kind != Value::Kind::mapping) return false;
    const Option on = options_.option(text_under(packed, "switch"));
    Option length = options_.option(text_under(packed, "length"));
    if (on.setting == nullptr || !options_.flag(on)) {
      options_.leave(on, "off");
      options_.leave(length, "nothing is packed");
      return false;
    }
    options_.doubt(on, "documents are packed, and their lengths are not here: training.document_lengths");
    if (length.setting == nullptr) length.value = *packed.find("default");
    options_.put(length, "training.sequence_length",
                 std::to_string(options_.integer(length, options_.entry("max_length"))),
                 "sequences are packed up to it");
    options_.leave(options_.option("max_length"), "of the samples that are packed");
    return true;
  }

  void read_lengths() {
    if (read_packed_length()) return;
    const Option length = options_.option("max_length");
    if (!length.is_none()) {
      options_.put(length, "training.sequence_length", std::to_string(options_.count("max_length")),
                   "sequences are taken to be that long");
    }
  }

  // Reads precision: bf16 and fp16 are the Trainer's; Accelerate's mixed_precision holds if the Trainer states neither.
  void read_precision() {
    Option bfloat = options_.option("bf16");
    const Option half = options_.option("fp16");
    if (bfloat.setting == nullptr && options_.flag(half)) bfloat.value = scalar_value("false", Location{});
    // A tool that trains in 16 bits alone needs no autocast, and is as fast.
    const std::string pure = tool_ == nullptr ? "" : text_under(tool_->section("narrow_weights"), "switch");
    if (!pure.empty() && options_.flag(options_.option(pure))) bfloat.value = scalar_value("true", Location{});
    const Option tensor = options_.option("tf32");
    const bool wide = !tensor.is_none() && options_.flag(tensor);
    if (options_.flag(bfloat) && options_.flag(half)) options_.fail(half, "bf16 or fp16, not both");
    const bool narrow = options_.flag(bfloat) || options_.flag(half);
    if (options_.flag(bfloat)) options_.put(bfloat, "training.precision", "bf16", since(bfloat));
    if (options_.flag(half)) options_.put(half, "training.precision", "fp16");
    if (!options_.flag(bfloat)) options_.leave(bfloat, "off");
    if (!options_.flag(half)) options_.leave(half, "off");
    const bool chosen = narrow || accelerate_.precision.has_value();
    if (!chosen) options_.put(wide ? tensor : bfloat, "training.precision", wide ? "tf32" : "fp32");
    if (chosen || !wide) options_.leave(tensor, "products are in 16 bits, or in fp32");
  }

  void read_recomputation() {
    Option option = options_.option("gradient_checkpointing");
    const std::string too = tool_ == nullptr ? "" : tool_->section("recomputes_too").scalar;
    const Option other = too.empty() ? Option() : options_.option(too);
    if (other.setting != nullptr && options_.flag(other) && !options_.flag(option)) {
      options_.leave(option, "another option is on");
      option = other;
    } else {
      options_.use(other, "off, or as another option says");
    }
    if (options_.flag(option)) return options_.put(option, "strategy.recompute", "full", since(option));
    options_.leave(option, "off");
    if (options_.said("strategy.recompute").empty()) options_.put(option, "strategy.recompute", "none");
  }

  // Reads the format of the frozen weights beside adapters (bitsandbytes).
  void read_bits(bool adapters) {
    const Option four = options_.option("load_in_4bit");
    const Option eight = options_.option("load_in_8bit");
    const Option nested = options_.option("use_bnb_nested_quant");
    const Option bits = options_.option("bits");
    const std::string width = bits.setting == nullptr ? "" : options_.word(bits, options_.entry("bits").takes);
    const bool in_four = options_.flag(four) || width == "4";
    const bool in_eight = options_.flag(eight) || width == "8";
    if ((in_four || in_eight) && !adapters) {
      return options_.judge_part("bits", OptionVerdict::hold, "weights in 4 or 8 bits are trained only by adapters");
    }
    if (in_four && in_eight) options_.fail(eight, "4 or 8 bits, not both");
    const Option& narrow = width.empty() ? (in_four ? four : eight) : bits;
    if (in_four) {
      options_.put(narrow, "training.lora.base", options_.flag(nested) ? "nf4-double" : "nf4");
      options_.use(nested, "decides how the constants of 4-bit weights are kept");
    } else if (in_eight) {
      options_.put(narrow, "training.lora.base", "int8");
    }
    if (!in_four) options_.leave(nested, "no weights in 4 bits");
    for (const Option& option : {four, eight, bits}) {
      if (option.name != narrow.name || !(in_four || in_eight)) options_.leave(option, "off");
    }
    const bool unsaid = four.setting == nullptr && eight.setting == nullptr && bits.setting == nullptr;
    if (adapters && unsaid && script_has("programs_of_few_bits")) {
      lack_default({}, "training.lora.base", "the bits of frozen weights are", "nf4-double, nf4, int8 or as-trained");
    }
  }

  // Asks for a key of the scenario that is a default in the code of the user's own program.
  void lack_default(const Location& where, const std::string& key, std::string_view what, std::string_view values) {
    options_.draft().lack(where, key,
                          fmt::format("{} a default of {} itself: say --set {}={}", what, script_, key, values));
  }

  // True if the name of the user's own program has one of these words in it.
  bool script_has(std::string_view words) const { return name_has_word(script_, facts_.section(words).items); }

  // A user's own program has adapters if it states their rank, or if its name says so. A rank that it does not state is
  // its own, too.
  void read_adapters() {
    const Option peft = options_.option("use_peft");
    const Option rank = options_.option("lora_r");
    const bool stated = rank.setting != nullptr && !rank.is_none();
    const bool by_rank = tool_ != nullptr && tool_->section("adapters_by_rank").scalar == "true";
    const bool own = (by_rank && stated && options_.integer(rank, 0, kMostSequences) > 0) ||
                     (!script_.empty() && peft.setting == nullptr && (stated || script_has("programs_of_adapters")));
    const bool adapters = options_.flag(peft) || own;
    read_bits(adapters);
    if (!adapters) {
      options_.leave_part("adapters", "no adapters");
      options_.leave_part("whole", "no adapters");
      return options_.leave_part("targets", "no adapters");
    }
    if (!script_.empty() && !stated) {
      lack_default(peft.setting == nullptr ? Location{} : peft.setting->where, "training.lora.rank",
                   "the rank of the adapters is", "NUMBER");
    }
    options_.read_part("adapters");
    read_hub_targets(options_, options_.option("lora_target_modules"), facts_);
    read_whole_modules(options_, options_.option("lora_modules_to_save"), facts_);
  }

  // Reads "full_shard auto_wrap", or a list of such words; DeepSpeed by a file; else Accelerate's setting.
  void read_sharding() {
    const Option fsdp = options_.option("fsdp");
    const Option deepspeed = options_.option("deepspeed");
    sharding_ = accelerate_.sharding.value_or(HubSharding::none);
    if (deepspeed.setting != nullptr && !deepspeed.is_none()) {
      sharding_ = HubSharding::deepspeed;
      options_.use(deepspeed, "read as well");
      const std::string& name = deepspeed.value.scalar;  // "true": an option without a value
      const bool named = deepspeed.value.kind == Value::Kind::mapping || !(name.empty() || name == "true");
      if (!named && accelerate_.sharding != HubSharding::deepspeed) {
        options_.draft().obstruct(deepspeed.setting->where,
                                  "deepspeed: the name of its file is not known: give the file, too");
      }
    }
    const bool said = fsdp.setting != nullptr && !fsdp.is_none() &&
                      !(fsdp.value.kind == Value::Kind::sequence && fsdp.value.items.empty());
    if (said) read_fsdp(fsdp);
    if (!said) options_.leave(fsdp, "off");
    if (sharding_ == HubSharding::none) {
      options_.put(fsdp, "strategy.zero", "0", "each GPU holds all of it");
      options_.put(fsdp, "strategy.overlap_grad_reduce", "true", "DDP always does");
    }
    options_.read("fsdp_config.activation_checkpointing");
  }

  void read_fsdp(const Option& option) {
    sharding_ = HubSharding::fsdp;
    std::string text = option.value.kind == Value::Kind::scalar ? option.value.scalar : "";
    for (const Value& item : option.value.items) text += " " + item.scalar;
    if (text == "true" || text == "True") text = "full_shard";
    const auto has = [&](std::string_view word) {
      return (" " + text + " ").find(fmt::format(" {} ", word)) != std::string::npos;
    };
    const bool hybrid = has("hybrid_shard") || has("hybrid_shard_zero2");
    const bool kept = has("shard_grad_op") || has("hybrid_shard_zero2");
    const bool whole = has("full_shard") || has("hybrid_shard");
    if (!kept && !whole) {
      return options_.fail(option, "full_shard, shard_grad_op, hybrid_shard or hybrid_shard_zero2 among the words");
    }
    options_.put(option, "strategy.zero", kept ? "2" : "3");
    const auto& machine = options_.draft().machine;
    if (hybrid && machine.gpus_per_node) {
      options_.put(option, "strategy.zero_group", std::to_string(*machine.gpus_per_node), "each node holds a copy");
    } else if (hybrid) {
      options_.doubt(option, "each node holds a copy: how many GPUs a node has is not here");
    }
    if (!has("offload")) return;
    options_.put(option, "strategy.offload_parameters", "true", "the word offload");
    options_.put(option, "strategy.offload_optimizer", "1", "the optimizer steps there, too");
  }

  // Reads the batch of all ranks, of which the program makes whole microbatches. `sequences`: of a microbatch on all
  // of `ranks`.
  void read_whole_batch(const std::string& name, std::int64_t sequences, std::int64_t ranks) {
    const Option whole = options_.option(name);
    const std::int64_t parts = options_.integer(whole, 1, kMostSequences) / sequences;
    options_.use(whole, "sequences of a step");
    if (parts == 0) {
      return options_.draft().obstruct(whole.value.where,
                                       fmt::format("less than a microbatch on each of {} data ranks: the program has "
                                                   "no step of so few",
                                                   ranks));
    }
    options_.put(whole, "training.global_batch", std::to_string(parts * sequences),
                 fmt::format("{} whole microbatches on each of {} data ranks", parts, ranks));
  }

  void read_batch() {
    const Option micro = options_.option("per_device_train_batch_size");
    const Option steps = options_.option("gradient_accumulation_steps");
    options_.read("per_device_train_batch_size");
    const std::int64_t sequences = options_.count("per_device_train_batch_size");
    options_.use(steps, "microbatches of a GPU in a step");
    std::optional<std::int64_t> gpus = accelerate_.processes ? accelerate_.processes : context_.gpus;
    const std::int64_t model_ranks = accelerate_.model_ranks;
    if (!gpus || *gpus % model_ranks != 0) {
      return options_.draft().obstruct(micro.setting == nullptr ? Location{} : micro.setting->where,
                                       "the global batch is that of a GPU times the data ranks: give the nodes");
    }
    judge_alone(*gpus);
    const std::int64_t ranks = *gpus / model_ranks;
    const std::string whole = tool_ == nullptr ? "" : tool_->section("whole_batch").scalar;
    if (!whole.empty()) return read_whole_batch(whole, sequences * ranks, ranks);
    const std::int64_t parts = parts_of_step(steps, sequences * ranks);
    options_.put(micro, "training.global_batch", std::to_string(sequences * parts * ranks),
                 fmt::format("{} in each of {} steps on {} data ranks", sequences, parts, ranks));
  }

  // Adds an obstacle where processes of a tool train a model each, as they do unless an option has them share it.
  void judge_alone(std::int64_t gpus) {
    const std::string shares = tool_ == nullptr ? "" : tool_->section("alone_unless").scalar;
    if (shares.empty() || sharding_ != HubSharding::none || gpus == 1) return;
    options_.draft().obstruct(
        Location{},
        fmt::format("without {} each of {} processes trains a model of its own: give one GPU", shares, gpus));
  }

  // Returns the microbatches of a step, each of so many sequences over all ranks.
  std::int64_t parts_of_step(const Option& steps, std::int64_t sequences) const {
    if (steps.setting == nullptr && accelerate_.accumulation) return *accelerate_.accumulation;
    const std::string least = tool_ == nullptr ? "" : tool_->section("least_batch").scalar;
    if (steps.setting != nullptr || least.empty()) {
      return options_.integer(steps, options_.entry("gradient_accumulation_steps"));
    }
    return (whole_number_of(least).value_or(1) + sequences - 1) / sequences;
  }

  // Reads options of a tool that say how images come to a model with a tower: how many patches they have is the
  // scenario's. Those of a model without a tower are judged by the tool's rules.
  void read_images() {
    const bool unknown = options_.said("model").empty();
    if (tool_ == nullptr || (!unknown && !has_tower(options_.draft(), context_.sources))) return;
    const Value& rules = tool_->section("images");
    const Value* names = rules.find("options");
    if (names == nullptr) return;
    for (const Value& name : names->items) {
      const Option option = options_.option(name.scalar);
      if (!option.is_none()) options_.doubt(option, "images and their patches are as training.images says");
    }
    const std::string sign = text_under(rules, "only_with");
    if (sign.empty() || unknown) return;
    const Option by = options_.option(sign);
    if (by.is_none()) options_.put(by, "training.images", "0", "text alone");
  }

  // Returns how the weights that are trained are kept; nullopt: in fp32.
  std::optional<NarrowWeights> kept_narrow() {
    static const Value none;
    return narrow_weights(options_, tool_ == nullptr ? none : tool_->section("narrow_weights"),
                          facts_.section("narrow_weights"));
  }

  // Returns the framework with whole models trained in 16 bits, where nothing has copies in fp32: DeepSpeed does, and
  // adapters are apart.
  Value with_weights(Value framework) {
    const std::optional<NarrowWeights> narrow = kept_narrow();
    const bool sharded = sharding_ == HubSharding::fsdp;
    const bool holds = narrow && sharding_ != HubSharding::deepspeed && (!sharded || narrow->sharded) &&
                       options_.said("training.precision") == "bf16" && !options_.flag("use_peft");
    if (!holds) return framework;
    return with_narrow_weights(options_, std::move(framework), *narrow, facts_.section("narrow_weights"), sharded);
  }

  void read_framework() {
    const Option compile = options_.option("torch_compile");
    const bool compiled = options_.flag(compile) || accelerate_.compiled;
    const char* name = sharding_ == HubSharding::deepspeed ? "deepspeed"
                       : sharding_ == HubSharding::none    ? "none"
                       : compiled                          ? "fsdp-compiled"
                                                           : "fsdp";
    Value framework = with_weights(with_loss(with_liger(*facts_.section("frameworks").find(name))));
    if (tool_ != nullptr) framework = with_kernels_of_tool(options_, std::move(framework), tool_->section("kernels"));
    const Option attention = options_.option("attn_implementation");
    if (attention.setting == nullptr || attention.is_none()) {
      options_.put(compile, "training.framework", std::move(framework), since(options_.option("loss_type")));
    } else if (const Value* kernels = facts_.section("attention").find(options_.word(attention))) {
      options_.put(attention, "training.framework", with_habit(std::move(framework), "fusion", "attention", *kernels));
    } else {
      options_.put(compile, "training.framework", std::move(framework));
      options_.doubt(attention, "not a kernel of attention that mirfak knows: the framework file's is taken");
    }
    const bool unseen = compiled && sharding_ != HubSharding::fsdp;
    if (unseen) options_.doubt(compile, "the prediction has the compiler's kernels with FSDP only");
  }

  const ProgramFacts& facts_;
  const ProgramFacts* tool_;
  const std::string_view program_;
  const std::string script_;
  const ImportContext& context_;
  OptionReader options_;
  const Value* since_;  // null: all defaults are the Trainer's
  AccelerateSays accelerate_;
  HubSharding sharding_ = HubSharding::none;
  bool of_vision_ = false;       // the program or its options say that the model has a tower
  bool labels_ = false;          // texts have labels in the place of words
  const Value* kind_ = nullptr;  // null: it is no tuning by preferences
};

bool is_accelerate_yaml(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"distributed_type"});
  return root && has_key_of(*root, {"distributed_type"}) &&
         has_key_of(*root, {"num_processes", "num_machines", "compute_environment", "mixed_precision"});
}

Value root_of(const ImportFile& file, const ImportContext& context) {
  const std::size_t start = file.text.find_first_not_of(" \t\r\n");
  const bool json = start != std::string::npos && file.text[start] == '{';
  return json ? parse_json_file(file.text, file.name, context.environment) : parse_yaml(file.text, file.name);
}

// Returns the first file of this kind; nullptr: none.
const ImportFile* file_of(std::span<const ImportFile> files, bool (*is)(const ImportFile&)) {
  const auto at = std::find_if(files.begin(), files.end(), is);
  return at == files.end() ? nullptr : &*at;
}

// Returns the DeepSpeed JSON: one that is named must be among the files, or lie beside the file that names it; one
// among the files counts even if it is not named.
std::optional<ImportFile> deepspeed_file(std::span<const ImportFile> files, const std::vector<Setting>& settings) {
  const ImportFile* given = file_of(files, is_deepspeed_json);
  std::optional<ImportFile> here = given == nullptr ? std::nullopt : std::optional(*given);
  for (const Setting& setting : settings) {
    const bool names =
        setting.name == "deepspeed" || setting.name == "accelerate:deepspeed_config.deepspeed_config_file";
    if (!names || setting.value.kind != Value::Kind::scalar || setting.value.scalar.empty()) continue;
    if (setting.value.scalar == "none" || setting.value.scalar == "null" || setting.value.scalar == "true") continue;
    const std::span<const ImportFile> known(here ? &*here : nullptr, here ? 1 : 0);
    auto beside = file_named(known, setting.value.scalar) == nullptr
                      ? file_beside(files, setting.value.scalar, setting.where.file)
                      : std::nullopt;
    std::optional<ImportFile> found;
    if (beside) found = ImportFile{std::move(beside->name), std::move(beside->text)};
    if (found && is_deepspeed_json(*found)) {
      here = std::move(found);
    } else {
      required_file(known, setting.value.scalar, setting.where);
    }
  }
  return here;
}

}  // namespace

void read_hub_targets(OptionReader& options, const Option& option, const ProgramFacts& facts) {
  if (option.is_none()) return;
  const bool scalar = option.value.kind == Value::Kind::scalar;
  if (scalar && (option.value.scalar == "all-linear" || option.value.scalar == "all")) {
    return options.use(option, "all linear layers");
  }
  std::set<std::string> layers;
  std::vector<Value> words = option.value.items;
  if (option.value.kind == Value::Kind::scalar) words = {option.value};
  for (const Value& word : words) {
    const auto named = targets_of(word.scalar, facts.section("adapter_targets"), facts.section("adapter_places"));
    if (!named) {
      return options.doubt(option, fmt::format("mirfak knows no linear layer {}", excerpt(word.scalar)));
    }
    layers.insert(named->begin(), named->end());
  }
  options.put(option, "training.lora.targets",
              list_value(std::vector<std::string>(layers.begin(), layers.end()), option.value.where));
}

ImportDraft import_trainer(std::vector<Setting> settings, std::span<const ImportFile> files,
                           const ImportContext& context, const ProgramFacts* tool, std::string_view program,
                           std::string_view script) {
  static const Value trainer;
  const ProgramFacts facts(context.sources, "hugging-face");
  const Value* const own = (tool == nullptr ? facts : *tool).section("programs").find(program);
  const ImportFile* accelerate = file_of(files, is_accelerate_yaml);
  const bool by_options = std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return setting.name.starts_with(kAcceleratePrefix);
  });
  for (const Setting& setting : settings) {
    const bool names = setting.name == std::string(kAcceleratePrefix) + "config_file";
    if (names && (accelerate == nullptr || file_named({accelerate, 1}, setting.value.scalar) == nullptr)) {
      fail_input(
          setting.where,
          fmt::format("{} is not among the files, or no configuration of Accelerate", excerpt(setting.value.scalar)),
          "give it, too");
    }
  }
  // Options of the command line come after those of the file, and take precedence.
  if (accelerate != nullptr) {
    std::vector<Setting> whole;
    add_with_prefix(whole, settings_of(root_of(*accelerate, context)), kAcceleratePrefix);
    for (Setting& setting : settings) whole.push_back(std::move(setting));
    settings = std::move(whole);
  }
  const std::optional<ImportFile> deepspeed = deepspeed_file(files, settings);
  if (deepspeed) add_with_prefix(settings, settings_of(root_of(*deepspeed, context)), kDeepSpeedPrefix);
  if (std::optional<Setting> model = model_among(files)) settings.push_back(std::move(*model));
  const bool inline_deepspeed = std::any_of(
      settings.begin(), settings.end(), [](const Setting& setting) { return setting.name.starts_with("deepspeed."); });
  for (Setting& setting : settings) {
    if (setting.name.starts_with("deepspeed.")) setting.name.replace(0, 10, kDeepSpeedPrefix);
  }
  ImportDraft draft(std::move(settings));
  AccelerateSays says;
  if (accelerate != nullptr || by_options) says = read_accelerate(draft, facts, context);
  if (by_options) ProgramFacts(context.sources, "accelerate").judge_rest(draft, kAcceleratePrefix);
  if (const Setting* file = draft.find(std::string(kAcceleratePrefix) + "config_file"))
    draft.use(*file, "its settings stand above");
  if (inline_deepspeed || (deepspeed && !says.sharding)) says.sharding = HubSharding::deepspeed;
  const HubSharding sharding =
      TrainerReader(draft, facts, tool, own == nullptr ? trainer : *own, program, script, context, says).read();
  if (sharding == HubSharding::deepspeed && (deepspeed || inline_deepspeed)) {
    ImportContext inside = context;
    if (says.processes) inside.gpus = says.processes;
    read_deepspeed(draft, inside, std::string(kDeepSpeedPrefix), "the Trainer");
  }
  return draft;
}

bool is_trainer_file(const ImportFile& file) {
  if (is_llama_factory_file(file) || is_axolotl_file(file) || is_swift_file(file)) return false;
  const std::optional<Value> root =
      mapping_mentioning(file, {"train_batch_size", "gradient_checkpointing", "output_dir"});
  if (!root) return false;
  return has_key_of(*root, {"per_device_train_batch_size", "gradient_checkpointing", "per_gpu_train_batch_size"}) ||
         (has_key_of(*root, {"output_dir"}) && has_key_of(*root, {"learning_rate", "num_train_epochs", "max_steps"}));
}

static ImportDraft read_trainer_file(std::span<const ImportFile> files, const ImportContext& context) {
  return import_trainer(settings_of(root_of(files.front(), context)), files.subspan(1), context);
}

// Reads Accelerate's configuration; the Trainer's settings, a DeepSpeed JSON and the model's config.json may be given
// with it.
static ImportDraft read_accelerate_yaml(std::span<const ImportFile> files, const ImportContext& context) {
  std::vector<Setting> settings;
  if (const ImportFile* trainer = file_of(files, is_trainer_file)) settings = settings_of(root_of(*trainer, context));
  return import_trainer(std::move(settings), files, context);
}

const ImportFormat kTrainerSettings = {
    "trainer", "settings of Hugging Face's Trainer and TRL in JSON or YAML: per_device_train_batch_size, ...",
    is_trainer_file, read_trainer_file};
const ImportFormat kAccelerateYaml = {"accelerate-yaml",
                                      "Hugging Face Accelerate's configuration: distributed_type, num_processes, ...",
                                      is_accelerate_yaml, read_accelerate_yaml};

}  // namespace mirfak
