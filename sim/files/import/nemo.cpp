#include "import/nemo.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/hydra_command.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

constexpr std::string_view kEncoder = "model.encoder.";
constexpr std::string_view kDecoder = "model.decoder.";
constexpr std::string_view kMambaLayers = "layers:model.num_layers";
constexpr std::string_view kOtherHalf = "decoder:";  // the remaining settings of the decoder

bool has_prefix(const std::vector<Setting>& settings, std::string_view prefix) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return setting.name.starts_with(prefix); });
}

// Joins the halves of T5, which states sizes of the encoder and of the decoder; they are equal except for the number of
// layers. `differing`: names that differ otherwise.
void join_halves(std::vector<Setting>& settings, std::vector<std::string>& differing) {
  for (Setting& setting : settings) {
    if (setting.name == "model.encoder.num_layers") setting.name = megatron_option_name("encoder-num-layers");
    if (setting.name == "model.decoder.num_layers") setting.name = megatron_option_name("decoder-num-layers");
  }
  for (Setting& setting : settings) {
    if (!setting.name.starts_with(kDecoder)) continue;
    const std::string name = std::string(kEncoder) + setting.name.substr(kDecoder.size());
    const auto other =
        std::find_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.name == name; });
    const bool same = other != settings.end() && emit_flow_yaml(other->value) == emit_flow_yaml(setting.value);
    setting.name.replace(0, kDecoder.size(), kOtherHalf);
    if (!same) differing.push_back(setting.name);
  }
  for (Setting& setting : settings) {
    if (setting.name.starts_with(kEncoder)) setting.name.replace(0, kEncoder.size(), "model.");
  }
}

// Names a tokenizer: one of Hugging Face by its model's name, others by their kind.
void name_tokenizer(std::vector<Setting>& settings) {
  if (has_prefix(settings, "model.override_vocab_size")) return;
  for (Setting& setting : settings) {
    if (setting.name != "model.tokenizer.type" || setting.value.kind != Value::Kind::scalar) continue;
    const bool hub = setting.value.scalar.find('/') != std::string::npos;
    setting.name = megatron_option_name(hub ? "tokenizer-name-or-path" : "tokenizer-type");
  }
}

bool says_zero(const Setting& setting) {
  return setting.value.kind == Value::Kind::null || setting.value.scalar == "0" || setting.value.scalar == "0.0" ||
         setting.value.scalar == "null";
}

Setting* setting_named(std::vector<Setting>& settings, std::string_view name) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

// Names the layers of a Mamba-2 model: by its pattern; without a pattern and without shares of attention and MLPs, all
// layers are Mamba's. Returns the place of shares from which no layers are derived here.
std::optional<Location> name_mamba_layers(std::vector<Setting>& settings) {
  constexpr std::array<std::string_view, 3> shares = {"model.hybrid_attention_ratio", "model.hybrid_mlp_ratio",
                                                      "model.hybrid_override_pattern"};
  const bool mamba = has_prefix(settings, "model.mamba_") || std::any_of(shares.begin(), shares.end(), [&](auto name) {
                       return setting_named(settings, name) != nullptr;
                     });
  const Setting* pattern = setting_named(settings, "model.hybrid_override_pattern");
  if (!mamba || (pattern != nullptr && !says_zero(*pattern))) return std::nullopt;
  for (const std::string_view name : {shares[0], shares[1]}) {
    const Setting* share = setting_named(settings, name);
    if (share != nullptr && !says_zero(*share)) return share->where;
  }
  Setting* layers = setting_named(settings, "model.num_layers");
  const std::optional<std::int64_t> count = layers == nullptr ? std::nullopt : whole_number_of(layers->value.scalar);
  if (!count || *count < 1 || *count > 10'000) return std::nullopt;
  Setting all = *layers;
  all.name = megatron_option_name("hybrid-override-pattern");
  all.value = scalar_value(std::string(static_cast<std::size_t>(*count), 'M'), layers->where);
  layers->name = std::string(kMambaLayers);
  settings.push_back(std::move(all));
  return std::nullopt;
}

std::optional<std::int64_t> stated_number(ImportDraft& draft, const char* name) {
  OptionReader options(draft, "NeMo");
  const Option option = options.option(name);
  if (option.setting == nullptr) return std::nullopt;
  const std::int64_t value = options.integer(option, 1, 1 << 20);
  options.use(option, "GPUs of the job");
  return value;
}

void read_machine(ImportDraft& draft) {
  draft.machine.nodes = stated_number(draft, "trainer.num_nodes");
  draft.machine.gpus_per_node = stated_number(draft, "trainer.devices");
  draft.machine.said_by = "trainer.num_nodes and trainer.devices";
}

bool is_nemo_yaml(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"trainer:"});
  const Value* trainer = root ? mapping_under(*root, "trainer") : nullptr;
  return trainer != nullptr && trainer->find("devices") != nullptr && mapping_under(*root, "model") != nullptr;
}

ImportDraft import_nemo(std::vector<Setting> settings, const Location& where, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "nemo");
  const bool halves = has_prefix(settings, kDecoder);
  const bool encoder = has_prefix(settings, "model.bert_binary_head");
  std::vector<std::string> differing;
  if (halves) join_halves(settings, differing);
  name_tokenizer(settings);
  const std::optional<Location> shares = name_mamba_layers(settings);
  ImportDraft draft(in_megatron_words(std::move(settings), facts));
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with(kOtherHalf)) continue;
    if (std::find(differing.begin(), differing.end(), setting->name) == differing.end()) {
      draft.leave(*setting, "as the encoder's");
    } else {
      draft.doubt(*setting, "the encoder's differs, and is taken for both");
    }
  }
  leave_python(draft);
  if (shares) {
    draft.obstruct(*shares,
                   "which layers are attention and which are MLPs follows from shares, and is not derived here: "
                   "say hybrid_override_pattern");
  }
  if (const Setting* layers = draft.find(kMambaLayers)) draft.use(*layers, "all of them of Mamba-2");
  facts.judge_rest(draft);
  read_machine(draft);
  const char* program = halves ? "pretrain_t5.py" : encoder ? "pretrain_bert.py" : "pretrain_gpt.py";
  read_megatron_settings(draft, {program, where}, context);
  return draft;
}

ImportDraft read_nemo_yaml(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  return import_nemo(changed_settings({}, &file, context), {file.name, 1, 1}, context);
}

}  // namespace

ImportDraft import_nemo_command(const LaunchCommand& command, std::vector<Setting> others,
                                std::span<const ImportFile> files, const ImportContext& context) {
  const HydraCommand words = hydra_command(command.arguments);
  const ImportFile* file = words.file(files);
  if (file == nullptr) {
    const auto is_one = std::find_if(files.begin(), files.end(), is_nemo_yaml);
    if (is_one != files.end() && last_of(words.options, "config_name") == nullptr) file = &*is_one;
  }
  if (file == nullptr) {
    fail_input(command.program_where,
               fmt::format("{}: the configuration that it changes is not among the files", excerpt(command.program)),
               "give the file that --config-name names, or conf/megatron_gpt_config.yaml of NeMo, too");
  }
  std::vector<Setting> settings = changed_settings(words, file, context);
  for (Setting& setting : others) settings.push_back(std::move(setting));
  return import_nemo(std::move(settings), command.program_where, context);
}

// YAML of NeMo 1.x, as NeMo-Framework-Launcher has it: trainer, exp_manager and model, with OmegaConf's references.
const ImportFormat kNemoYaml = {"nemo-yaml", "YAML of NeMo 1.x and its launcher: trainer, model, exp_manager",
                                is_nemo_yaml, read_nemo_yaml};

}  // namespace mirfak
