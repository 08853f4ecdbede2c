// modelscope/ms-swift 3602360a5: swift/megatron/arguments/*.py; modelscope/mcore-bridge f020e47:
// config/model_config.py, model/gpt_model.py, tuners/lora.py. Sequences are as long as max_length, or packing_length
// where samples are packed.

#include "import/megatron_swift.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/deepspeed_json.hpp"
#include "import/hub_model.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"
#include "model/model_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kFacts = "megatron-swift";
constexpr std::string_view kLength = "--seq-length";

std::string word_said(const std::vector<Setting>& settings, std::string_view name) {
  const Setting* setting = last_of(settings, name);
  return setting == nullptr ? "" : word_of(setting->value);
}

bool is_on(const std::string& word) { return same_but_case(word, "true") || word == "1"; }

// The model that Transformers' config.json describes, or the library of models.
class SwiftModel {
 public:
  SwiftModel(ImportDraft& draft, const ImportContext& context, const Location& where)
      : draft_(draft), context_(context), where_(where) {}

  // Takes the model, and returns it as a scenario states it.
  Value read() {
    const Setting* id = draft_.find("model");
    if (const Setting* config = draft_.find("config.json")) {
      draft_.take(*config, "model", config->value);
      if (id != nullptr) draft_.use(*id, "its config.json is here");
      judge_predictions(false);
      return config->value;
    }
    if (id == nullptr) {
      fail_input(where_, "nothing says what the model is: --model does",
                 "give its config.json as well, if only --mcore_model says it");
    }
    const std::string name = word_of(id->value);
    const std::optional<KnownModel> known = hugging_face_model(name, context_.sources);
    if (!known) {
      fail_input(id->value.where.known() ? id->value.where : id->where,
                 fmt::format("models/ does not have {}", excerpt(name)), "give its config.json as well");
    }
    const bool by_config = is_by_config(known->model.scalar);
    if (by_config) judge_predictions(false);
    Value model = by_config ? known->model : with_predictions(known->model);
    draft_.take(*id, "model", model);
    return model;
  }

 private:
  // True for a config.json, and for a model of the library that is stated by the keys of one.
  bool is_by_config(const std::string& model) const {
    if (is_model_path(model)) return true;
    return Document::from_file(context_.sources.folders.models / (model + ".yaml")).root().find("config") != nullptr;
  }

  // Returns the model with as many modules that predict further tokens as the options say: none without them, whatever
  // the model has.
  Value with_predictions(const Value& model) {
    const std::string wanted = judge_predictions(true);
    const ModelSpec spec = load_model(model.scalar, context_.sources.folders.models, where_);
    if (spec.prediction_layers == whole_number_of(wanted).value_or(0)) return model;
    Value changed;
    set_field(changed, "like", model);
    set_field(changed, "prediction_layers", scalar_value(wanted, {}));
    return known_model(changed, {}, model.scalar, context_.sources).model;
  }

  std::string judge_predictions(bool taken) {
    const Setting* layers = draft_.find("mtp_num_layers");
    if (layers == nullptr || says_no(layers->value)) return "0";
    if (taken) draft_.use(*layers, "model.prediction_layers");
    if (!taken) draft_.doubt(*layers, "modules that predict further tokens are left out of a config.json");
    return word_of(layers->value);
  }

  ImportDraft& draft_;
  const ImportContext& context_;
  const Location& where_;
};

// Returns the type of a config.json's weights, "" if it says none.
std::string type_of_weights(std::span<const ImportFile> files) {
  const std::optional<Setting> model = model_among(files);
  if (!model) return "";
  const Value root = Document::from_file(model->value.scalar).root();
  const std::string type = text_under(root, "dtype");
  return type.empty() ? text_under(root, "torch_dtype") : type;
}

// Adds the precision that follows from the type of the weights, unless fp16 or bf16 says it: 16 bits of the other kind
// where they are in fp32.
void add_precision(std::vector<Setting>& settings, std::span<const ImportFile> files) {
  const bool half = is_on(word_said(settings, "fp16"));
  if (half || is_on(word_said(settings, "bf16"))) return;
  const Setting* said = last_of(settings, "torch_dtype");
  const bool stated = said != nullptr && !says_no(said->value);
  const std::string type = stated ? word_of(said->value) : type_of_weights(files);
  const bool narrow = type == "float16" || type == "float32";
  Setting precision{
      narrow ? "fp16" : "bf16",
      scalar_value("true", {}),
      {},
      type.empty() ? "bfloat16, as nearly all weights are (torch_dtype)" : type + ", the type of the weights"};
  if (stated) precision.where = precision.value.where = said->where, precision.text = said->text;
  settings.push_back(std::move(precision));
}

// Names the length of sequences as Megatron-LM's option: that of packed samples where they are packed.
void name_length(std::vector<Setting>& settings) {
  const bool packed = is_on(word_said(settings, "packing")) && last_of(settings, "packing_length") != nullptr;
  for (Setting& setting : settings) {
    if (setting.name == (packed ? "packing_length" : "max_length")) setting.name = kLength;
  }
}

// True if the program does not have this default beside the other options.
bool is_without(const Value& rules, const std::string& name, const std::vector<Setting>& settings) {
  const Value* others = rules.find(name);
  if (others == nullptr) return false;
  return std::any_of(others->fields.begin(), others->fields.end(), [&](const Value::Field& other) {
    const std::string word = word_said(settings, other.key);
    return std::any_of(other.value.items.begin(), other.value.items.end(),
                       [&](const Value& item) { return item.scalar == word; });
  });
}

void add_defaults(std::vector<Setting>& settings, const ProgramFacts& facts) {
  std::vector<Setting> out;
  for (const Value::Field& one : facts.section("defaults").fields) {
    if (last_of(settings, one.key) != nullptr) continue;
    if (is_without(facts.section("defaults_unless"), one.key, settings)) continue;
    Value value = one.value;
    value.where = value.key_where = {};
    for (Value& item : value.items) item.where = item.key_where = {};
    std::string text = fmt::format("megatron sft's own {}: {}", one.key, word_of(value));
    out.push_back({one.key, std::move(value), {}, std::move(text)});
  }
  for (Setting& setting : out) settings.push_back(std::move(setting));
}

// Takes habits of the framework that options name, and returns them.
Value read_kernels(ImportDraft& draft, const Value& rules) {
  Value out;
  for (const Value::Field& rule : rules.fields) {
    const Setting* setting = draft.find(rule.key);
    if (setting == nullptr) continue;
    const Value* habit = rule.value.find("words")->find(word_of(setting->value));
    if (habit == nullptr) {
      draft.doubt(*setting, "no kernel that mirfak knows: the framework file's is taken");
      continue;
    }
    draft.use(*setting, "training.framework");
    if (habit->kind != Value::Kind::null) set_field(out, rule.value.find("habit")->scalar, *habit);
  }
  return out;
}

// Judges options of adapters where whole models are trained.
void leave_adapters(ImportDraft& draft, const Value& options) {
  for (const Setting* setting : draft.open()) {
    const bool of_adapters = std::any_of(options.items.begin(), options.items.end(),
                                         [&](const Value& one) { return one.scalar == setting->name; });
    if (of_adapters) draft.leave(*setting, "no adapters");
  }
}

void read_adapters(ImportDraft& draft, const ProgramFacts& facts) {
  const Setting* kind = draft.find("tuner_type");
  const bool resumed = std::any_of(facts.section("adapter_files").items.begin(),
                                   facts.section("adapter_files").items.end(), [&](const Value& name) {
                                     const Setting* file = draft.latest(name.scalar);
                                     return file != nullptr && !says_no(file->value);
                                   });
  const std::string word = kind == nullptr ? "full" : word_of(kind->value);
  if (kind != nullptr && (word == "lora" || word == "full")) draft.use(*kind, "training.lora");
  if (word != "lora" && !resumed) return leave_adapters(draft, facts.section("adapter_options"));
  for (const auto& [name, key] :
       {std::pair{"lora_rank", "training.lora.rank"}, {"lora_dropout", "training.lora.dropout"}}) {
    if (const Setting* setting = draft.find(name)) draft.take(*setting, key, setting->value);
  }
  const Setting* targets = draft.find("target_modules");
  if (targets == nullptr) return;
  const std::vector<std::string> words = words_of(targets->value);
  if (std::find(words.begin(), words.end(), "all-linear") == words.end()) {
    return take_adapter_targets(draft, *targets, facts.section("adapter_targets"));
  }
  draft.use(*targets, "all linear layers");
  if (words.size() > 1) draft.doubt(*targets, "adapters of other layers than linear ones are left out");
}

// Judges a missing length: packed samples are as long as the model's longest sequence, others as long as they are.
void read_samples(ImportDraft& draft, const Location& where) {
  if (draft.find(kLength) != nullptr) return;
  const Setting* packing = draft.find("packing");
  if (packing != nullptr && is_on(word_of(packing->value))) {
    draft.notes.push_back({where, "no max_length: packed samples are as long as the model's longest sequence"});
    return;
  }
  draft.lack(where, "training.sequence_length",
             "no max_length: samples are as long as they are; say --set training.sequence_length=NUMBER");
}

// Holds adapters back that the program does not divide.
void check_adapters(ImportDraft& draft) {
  const Setting* divided = draft.find("--expert-tensor-parallel-size");
  const bool adapters = !word_under(draft, "training.lora.rank").empty();
  if (!adapters || divided == nullptr || whole_number_of(word_of(divided->value)).value_or(1) <= 1) return;
  draft.obstruct(divided->where, fmt::format("{}: the program does not divide adapters of experts", divided->text));
}

}  // namespace

bool is_megatron_swift_file(const ImportFile& file) {
  if (!mentions(file, {"model:", "\"model\""})) return false;
  const std::optional<Value> root = configuration_in(file);
  if (!root) return false;
  const Value* model = root->find("model");
  return model != nullptr && model->kind == Value::Kind::scalar &&
         has_key_of(*root, {"micro_batch_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
                            "expert_model_parallel_size", "recompute_granularity"}) &&
         has_key_of(*root, {"dataset", "cached_dataset", "tuner_type", "train_type", "max_length", "packing"});
}

ImportDraft import_megatron_swift(std::vector<Setting> settings, const Location& where,
                                  std::span<const ImportFile> files, const ImportContext& context) {
  const ProgramFacts facts(context.sources, kFacts);
  facts.rename(settings);
  add_precision(settings, files);
  add_defaults(settings, facts);
  name_length(settings);
  std::optional<Setting> config = model_among(files);
  settings = in_megatron_words(std::move(settings), facts);
  if (config) settings.push_back(std::move(*config));
  ImportDraft draft(std::move(settings));
  leave_python(draft);
  MegatronRun run{"pretrain_gpt.py", where};
  run.model = SwiftModel(draft, context, where).read();
  run.requirements = &facts.section("requirements");
  run.fusion = read_kernels(draft, facts.section("fusion"));
  read_adapters(draft, facts);
  if (const Setting* type = draft.find("torch_dtype")) draft.use(*type, "training.precision");
  read_megatron_settings(draft, run, context);
  check_adapters(draft);
  OptionReader parts(draft, "megatron sft");
  read_frozen_parts(parts, facts.section("frozen"), context, false);
  read_samples(draft, where);
  facts.judge_rest(draft);
  return draft;
}

static ImportDraft read_megatron_swift_file(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  return import_megatron_swift(settings_of(parse_foreign_yaml(file.text, file.name)), {file.name, 1, 1},
                               files.subspan(1), context);
}

const ImportFormat kMegatronSwift = {
    "megatron-swift-yaml", "ms-swift's YAML or JSON of megatron sft: model, dataset, tensor_model_parallel_size, ...",
    is_megatron_swift_file, read_megatron_swift_file};

}  // namespace mirfak
