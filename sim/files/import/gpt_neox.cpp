// EleutherAI/gpt-neox: train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x data ranks,
// where data ranks = GPUs / (pipe_parallel_size x model_parallel_size) (neox_arguments/arguments.py,
// calculate_batch_parameters). The width of a gated MLP is two thirds of intermediate_size, in whole multiples of
// mlp_multiple_of (model/transformer.py).

#include "import/gpt_neox.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/deepspeed_json.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_settings.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kOfDeepSpeed = "deepspeed:";
constexpr std::string_view kUsed = "used:";
constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kMostParts = 1 << 24;

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Returns the settings of all files: a later setting of a name counts, and the earlier one stays in the report.
std::vector<Setting> neox_settings(std::span<const ImportFile> files) {
  std::vector<Setting> out;
  for (const ImportFile& file : files) {
    for (Setting& setting : settings_of(parse_foreign_yaml(file.text, file.name))) {
      setting.name = with_underscores(setting.name);
      out.push_back(std::move(setting));
    }
  }
  return out;
}

// Sizes of batches and widths, which NeoX derives before it starts Megatron's code.
class NeoxSizes {
 public:
  explicit NeoxSizes(std::vector<Setting>& settings) : settings_(settings), draft_(settings) {}

  std::int64_t number(const char* name, std::int64_t otherwise, std::int64_t minimum, std::int64_t maximum) {
    OptionReader options(draft_, "GPT-NeoX");
    const Option option = options.option(name);
    return option.setting == nullptr || option.is_none() ? otherwise : options.integer(option, minimum, maximum);
  }

  std::optional<std::int64_t> size(const char* name) {
    const std::int64_t found = number(name, 0, 1, kMostParts);
    return found == 0 ? std::nullopt : std::optional(found);
  }

  // Adds a setting at the place of the setting `of`, with the text of that setting.
  void add(std::string name, std::int64_t value, std::string_view of) {
    Setting out;
    if (const Setting* from = draft_.latest(of)) out = *from;
    out.name = std::move(name);
    out.value = scalar_value(std::to_string(value), out.where);
    added_.push_back(std::move(out));
  }

  // Adds the derived settings, which count in place of the settings `replaced` that they were derived from.
  void finish(const std::vector<std::string_view>& replaced) {
    for (Setting& setting : settings_) {
      if (std::find(replaced.begin(), replaced.end(), setting.name) != replaced.end()) setting.name.insert(0, kUsed);
    }
    for (Setting& setting : added_) settings_.push_back(std::move(setting));
  }

  std::string word(const char* name) {
    const Setting* setting = draft_.latest(name);
    return setting == nullptr || setting->value.kind != Value::Kind::scalar ? "" : setting->value.scalar;
  }

 private:
  std::vector<Setting>& settings_;
  ImportDraft draft_;
  std::vector<Setting> added_;
};

// Adds micro batch, accumulation and batch: each follows from the other two and the data ranks.
void add_batches(NeoxSizes& sizes, std::optional<std::int64_t> gpus) {
  const std::int64_t pipeline = std::max<std::int64_t>(1, sizes.number("pipe_parallel_size", 1, 0, kMostRanks));
  const std::int64_t tensor = sizes.number("model_parallel_size", 1, 1, kMostRanks);
  const std::optional<std::int64_t> total = sizes.size("train_batch_size");
  const std::optional<std::int64_t> steps = sizes.size("gradient_accumulation_steps");
  std::optional<std::int64_t> micro = sizes.size("train_micro_batch_size_per_gpu");
  std::string_view of_micro = "train_micro_batch_size_per_gpu";
  if (!micro) micro = sizes.size("batch_size"), of_micro = "batch_size";
  const bool whole = gpus && *gpus % (pipeline * tensor) == 0;
  const std::int64_t ranks = whole ? *gpus / (pipeline * tensor) : 0;
  if (!micro && total && whole && *total % (ranks * steps.value_or(1)) == 0) {
    micro = *total / (ranks * steps.value_or(1));
    of_micro = "train_batch_size";
  }
  if (micro) sizes.add("--micro-batch-size", *micro, of_micro);
  if (total) return sizes.add("--global-batch-size", *total, "train_batch_size");
  if (micro && whole) sizes.add("--global-batch-size", *micro * steps.value_or(1) * ranks, of_micro);
}

void add_width(NeoxSizes& sizes) {
  const std::optional<std::int64_t> hidden = sizes.size("hidden_size");
  const std::string activation = sizes.word("activation");
  const bool gated = activation == "swiglu" || activation == "geglu";
  if (!hidden) return;
  const std::optional<std::int64_t> said = sizes.size("intermediate_size");
  const std::int64_t width = said.value_or(4 * *hidden);
  const std::int64_t multiple = sizes.number("mlp_multiple_of", 1, 1, kMostParts);
  const auto in_multiples = [&](std::int64_t part) { return (part + multiple - 1) / multiple * multiple; };
  const std::int64_t third = width * 2 / 3 / 2;
  sizes.add("--ffn-hidden-size", gated ? in_multiples(third) : in_multiples(width),
            said ? "intermediate_size" : "hidden_size");
}

std::vector<Setting> neox_in_megatron_words(std::vector<Setting> settings, const ProgramFacts& facts) {
  const Value& sections = facts.section("deepspeed");
  for (Setting& setting : settings) {
    const std::string section = setting.name.substr(0, setting.name.find('.'));
    const bool deepspeed = std::any_of(sections.items.begin(), sections.items.end(),
                                       [&](const Value& one) { return one.scalar == section; });
    if (deepspeed) setting.name.insert(0, kOfDeepSpeed);
    // A job without a pipeline states 0 stages.
    if (setting.name == "pipe_parallel_size" && setting.value.scalar == "0") setting.value.scalar = "1";
  }
  std::vector<Setting> own;
  std::vector<Setting> out;
  for (Setting& setting : settings) {
    const bool others = setting.name.starts_with(kOfDeepSpeed) || setting.name.starts_with(kUsed) ||
                        setting.name.starts_with("--") || setting.name.starts_with('$') ||
                        setting.name.starts_with('#');
    (others ? out : own).push_back(std::move(setting));
  }
  for (Setting& setting : in_megatron_words(std::move(own), facts)) out.push_back(std::move(setting));
  return out;
}

// Adds precision, which stands in DeepSpeed's sections and which Megatron's code asks for.
void add_precision(std::vector<Setting>& settings) {
  for (const char* name : {"fp16", "bf16"}) {
    const std::string enabled = fmt::format("{}{}.enabled", kOfDeepSpeed, name);
    const auto found =
        std::find_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.name == enabled; });
    if (found == settings.end() || (found->value.scalar != "true" && found->value.scalar != "True")) continue;
    Setting flag = *found;
    flag.name = std::string("--") + name;
    flag.value = {};
    settings.push_back(std::move(flag));
  }
}

}  // namespace

bool is_neox_file(const ImportFile& file) {
  if (!mentions(file, {"parallel_size", "parallel-size", "pos_emb", "pos-emb"})) return false;
  std::optional<Value> root = configuration_in(file);
  if (!root) return false;
  for (Value::Field& field : root->fields) field.key = with_underscores(field.key);
  return has_key_of(*root, {"pipe_parallel_size", "model_parallel_size", "pos_emb"}) &&
         has_key_of(*root, {"num_layers", "hidden_size", "num_attention_heads"}) &&
         !has_key_of(*root, {"tensor_model_parallel_size"});  // Megatron-LM's words
}

std::vector<ImportFile> files_of_neox(const LaunchCommand& command, std::span<const ImportFile> files) {
  std::vector<ImportFile> out;
  for (const ArgumentWord& word : command.arguments) {
    const std::filesystem::path name = std::filesystem::path(word.text).filename();
    const auto found = std::find_if(files.begin(), files.end(), [&](const ImportFile& file) {
      return std::filesystem::path(file.name).filename() == name || std::filesystem::path(file.name).stem() == name;
    });
    if (found != files.end()) out.push_back(*found);
  }
  return out;
}

ImportDraft import_neox(std::span<const ImportFile> files, std::vector<Setting> others, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "gpt-neox");
  std::vector<Setting> settings = neox_settings(files);
  NeoxSizes sizes(settings);
  add_batches(sizes, context.gpus);
  add_width(sizes);
  sizes.finish({"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "batch_size",
                "intermediate_size"});
  const Location where{files.front().name, 1, 1};
  settings = neox_in_megatron_words(std::move(settings), facts);
  add_precision(settings);
  settings.push_back({"--deepspeed", {}, where, "GPT-NeoX runs on DeepSpeed"});
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportDraft draft(std::move(settings));
  leave_python(draft);
  hold_back(draft, "", facts.section("held_back"));
  read_megatron_settings(draft, {"pretrain_gpt.py", where}, context);
  read_deepspeed(draft, context, std::string(kOfDeepSpeed), "GPT-NeoX");
  facts.judge_rest(draft);
  for (const Setting* setting : draft.open()) {
    if (setting->name.starts_with(kUsed)) draft.use(*setting, "sizes of batches, or of the MLP, follow from it");
  }
  return draft;
}

static ImportDraft read_neox_files(std::span<const ImportFile> files, const ImportContext& context) {
  std::vector<ImportFile> own;
  for (const ImportFile& file : files) {
    if (configuration_in(file) && !is_model_file(file.text, file.name)) own.push_back(file);
  }
  return import_neox(own, {}, context);
}

const ImportFormat kGptNeox = {"gpt-neox-yaml",
                               "GPT-NeoX's settings: pipe_parallel_size, model_parallel_size, num_layers, ...",
                               is_neox_file, read_neox_files};

}  // namespace mirfak
