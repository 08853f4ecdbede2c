// NVIDIA-NeMo/Megatron-Bridge: training/config.py, training/mixed_precision.py (whose fields overwrite those of model,
// ddp and optimizer), training/comm_overlap.py, models/gpt_provider.py; scripts/performance (perf_matrix).

#include "import/megatron_bridge.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"
#include "model/model_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace mirfak {

namespace {

const Value* field_at(const Value& root, std::string_view key) {
  return root.kind == Value::Kind::mapping ? root.find(key) : nullptr;
}

// Renames the groups of heads to Megatron-LM's option under latent attention, which does not group its heads.
void name_groups(std::vector<Setting>& settings) {
  const bool latent = std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return setting.name == "model.multi_latent_attention" && setting.value.scalar == "true";
  });
  for (Setting& setting : settings) {
    if (latent && setting.name == "model.num_query_groups" && setting.value.kind == Value::Kind::scalar) {
      setting.name = megatron_option_name("num-query-groups");
    }
  }
}

// Translates the activation, which two settings state: the gate, and a function of PyTorch's.
void name_activation(std::vector<Setting>& settings) {
  const Setting* gated = nullptr;
  Setting* function = nullptr;
  for (Setting& setting : settings) {
    if (setting.name == "model.gated_linear_unit") gated = &setting;
    if (setting.name == "model.activation_func._target_" || setting.name == "model.activation_func")
      function = &setting;
  }
  name_groups(settings);
  if (function == nullptr) return;
  const bool gate = gated != nullptr && (gated->value.scalar == "true" || gated->value.scalar == "True");
  const std::string& name = function->value.scalar;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  std::string option;
  if (gate && has("quick_gelu")) option = "quick-geglu";
  if (gate && option.empty() && has("gelu")) option = "geglu";
  if (gate && has("silu")) option = "swiglu";
  if (!gate && has("squared_relu")) option = "squared-relu";
  if (!gate && option.empty() && has("gelu")) option = "openai-gelu";
  if (option.empty()) return;
  function->name = megatron_option_name(option);
  function->value = scalar_value("true", function->where);
}

// Reads LoRA: peft: {_target_: ...LoRA, dim: 16, target_modules: [linear_qkv, linear_proj]}.
void read_adapters_of_bridge(ImportDraft& draft, const Value& targets) {
  const Setting* rank = draft.find("peft.dim");
  if (rank == nullptr) return;
  draft.take(*rank, "training.lora.rank", rank->value);
  if (const Setting* dropout = draft.find("peft.dropout"))
    draft.take(*dropout, "training.lora.dropout", dropout->value);
  if (const Setting* modules = draft.find("peft.target_modules")) take_adapter_targets(draft, *modules, targets);
}

struct PerformanceChoice {
  std::string gpu;
  std::int64_t gpus = 0;
  std::string precision;
  const Value* common = nullptr;
  const Value* own = nullptr;  // settings of the precision
};

std::vector<PerformanceChoice> performance_choices(const Value& matrix) {
  std::vector<PerformanceChoice> out;
  for (const Value::Field& gpu : matrix.fields) {
    for (const Value::Field& size : gpu.value.fields) {
      const std::int64_t gpus =
          size.key.starts_with("num_gpus_") ? whole_number_of(std::string_view(size.key).substr(9)).value_or(0) : 0;
      if (gpus < 1)
        fail_input(size.value.key_where, fmt::format("expected num_gpus_NUMBER, found '{}'", excerpt(size.key)));
      const Value* common = field_at(size.value, "common");
      for (const Value::Field& precision : size.value.fields) {
        if (precision.key != "common") out.push_back({gpu.key, gpus, precision.key, common, &precision.value});
      }
    }
  }
  return out;
}

std::string described(const PerformanceChoice& choice) {
  return fmt::format("{} x {}, {}", choice.gpus, choice.gpu, choice.precision);
}

const PerformanceChoice& chosen_of(const std::vector<PerformanceChoice>& choices, const Value& matrix,
                                   const ImportContext& context) {
  std::string all;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    all += fmt::format("{}{}: {}", i == 0 ? "" : "; ", i + 1, described(choices[i]));
  }
  const int number = context.launch.value_or(choices.size() == 1 ? 1 : 0);
  if (number < 1 || static_cast<std::size_t>(number) > choices.size()) {
    fail_input(matrix.key_where, fmt::format("{} settings stand here, of which one has to be chosen", choices.size()),
               fmt::format("say which by its number: {}", all));
  }
  return choices[static_cast<std::size_t>(number - 1)];
}

// Returns the settings of one entry of the matrix, in the words of ConfigContainer.
std::vector<Setting> performance_settings(const PerformanceChoice& choice, const Value& facts) {
  std::vector<Setting> out;
  for (const Value* from : {choice.common, choice.own}) {
    if (from == nullptr || from->kind != Value::Kind::mapping) continue;
    for (Setting& setting : settings_of(*from)) {
      if (const Value* name = facts.find(setting.name)) setting.name = name->scalar;
      out.push_back(std::move(setting));
    }
  }
  return out;
}

// Adds the precision of an entry: bf16, fp8_cs (current scaling), ...
void add_precision(std::vector<Setting>& settings, const PerformanceChoice& choice, const Value& precisions) {
  const Value* known = precisions.find(choice.precision);
  if (known == nullptr) {
    fail_input(choice.own->key_where,
               fmt::format("a precision that mirfak does not know: '{}'", excerpt(choice.precision)));
  }
  for (const Value::Field& field : known->fields) {
    Value value = field.value;
    value.where = choice.own->key_where;
    settings.push_back({field.key, value, choice.own->key_where, choice.precision});
  }
}

// Returns the options that the model of a recipe has on: experts, of which a command need not state the number.
std::vector<std::string> of_model(std::string_view model, const Location& where, const ImportContext& context) {
  if (model.empty()) return {};
  const ModelSpec spec = load_model(std::string(model), context.sources.folders.models, where);
  return spec.mixture.experts > 0 ? std::vector<std::string>{"model.num_moe_experts"} : std::vector<std::string>{};
}

}  // namespace

ImportDraft import_megatron_bridge(std::vector<Setting> settings, const Location& where, const ImportContext& context,
                                   std::string_view model, std::string_view why) {
  const ProgramFacts facts(context.sources, "megatron-bridge");
  name_activation(settings);
  ImportDraft draft(in_megatron_words(std::move(settings), facts, of_model(model, where, context)));
  leave_python(draft);
  read_adapters_of_bridge(draft, facts.section("adapter_targets"));
  MegatronRun run{"pretrain_gpt.py", where};
  if (!model.empty()) run.model = scalar_value(model, {});
  run.model_reason = std::string(why);
  read_megatron_settings(draft, run, context);
  facts.judge_rest(draft);
  return draft;
}

static bool is_megatron_bridge_yaml(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"ConfigContainer", "perf_matrix:", "model:"});
  if (!root) return false;
  if (has_key_of(*root, {"ConfigContainer", "perf_matrix"})) return true;
  if (text_under(*root, "_target_").find("ConfigContainer") != std::string::npos) return true;
  // Overrides have sections of a ConfigContainer, none of which a scenario or NeMo 1.x has.
  constexpr std::array<std::string_view, 6> names = {"train",      "model",     "optimizer",
                                                     "checkpoint", "scheduler", "logger"};
  const auto sections = std::count_if(names.begin(), names.end(),
                                      [&](std::string_view name) { return mapping_under(*root, name) != nullptr; });
  return sections >= 3 && !has_key_of(*root, {"trainer", "cluster", "train_loader"});
}

// Reads a ConfigContainer in YAML: a resolved one, overrides of a recipe, or the matrix of performance settings
// (perf_matrix), in which ImportContext::launch chooses the entry.
static ImportDraft read_megatron_bridge_yaml(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  const ProgramFacts facts(context.sources, "megatron-bridge");
  const Value root = parse_yaml(file.text, file.name);
  const Value* container = root.find("ConfigContainer");
  const Value* matrix = root.find("perf_matrix");
  std::vector<Setting> settings = settings_of(container != nullptr ? *container : matrix != nullptr ? Value{} : root);
  std::optional<PerformanceChoice> choice;
  if (matrix != nullptr) {
    choice = chosen_of(performance_choices(*matrix), *matrix, context);
    add_precision(settings, *choice, facts.section("performance_precisions"));
    for (Setting& setting : performance_settings(*choice, facts.section("performance_options"))) {
      settings.push_back(std::move(setting));
    }
  }
  const bool complete = std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return setting.name == "model.num_layers" && setting.value.kind == Value::Kind::scalar;
  });
  const std::string name = std::filesystem::path(file.name).filename().string();
  const std::string model =
      complete ? "" : text_under_longest(facts.section("recipes"), [&](const std::string& recipe) {
        return name.find(recipe) != std::string::npos;
      });
  ImportContext inside = context;
  if (choice && !inside.gpus) inside.gpus = choice->gpus;
  ImportDraft draft = import_megatron_bridge(std::move(settings), {file.name, 1, 1}, inside, model,
                                             "the recipe that the name of the file begins with");
  if (!choice) return draft;
  const Setting* each = draft.find("num_gpus_per_node");
  const std::int64_t of_node = each == nullptr ? 0 : whole_number_of(each->value.scalar).value_or(0);
  if (each != nullptr && of_node < 1)
    fail_input(each->where,
               fmt::format("num_gpus_per_node: expected a number from 1, found '{}'", excerpt(each->value.scalar)));
  if (each != nullptr) draft.use(*each, "GPUs of a node");
  draft.machine.gpu = choice->gpu;
  draft.machine.said_by = described(*choice);
  if (of_node > 0 && choice->gpus % of_node == 0) {
    draft.machine.nodes = choice->gpus / of_node;
    draft.machine.gpus_per_node = of_node;
  }
  return draft;
}

const ImportFormat kMegatronBridgeYaml = {
    "megatron-bridge-yaml", "Megatron-Bridge's ConfigContainer: resolved, overrides of a recipe, or perf_matrix",
    is_megatron_bridge_yaml, read_megatron_bridge_yaml};

}  // namespace mirfak
