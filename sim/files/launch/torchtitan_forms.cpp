// torchtitan's settings as a TOML file (releases until v0.2.2), and as options of its command line (after it). Models
// and their flavors: models/*/__init__.py, models/*/config_registry.py.

#include "base/document.hpp"
#include "base/error.hpp"
#include "launch/launch_targets.hpp"
#include "launch/torchtitan_settings.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Models of models/ that torchtitan defines too, with two sizes that reveal a changed model.
struct Flavor {
  std::string_view model;
  std::string_view name;
  std::string_view flavor;
  std::int64_t layers;
  std::int64_t hidden;
};
constexpr std::array<Flavor, 8> kFlavors = {{
    {"llama3-8b", "llama3", "8B", 32, 4096},
    {"llama3-70b", "llama3", "70B", 80, 8192},
    {"llama3-405b", "llama3", "405B", 126, 16384},
    {"deepseek-v2-lite", "deepseek_v3", "16B", 27, 2048},
    {"deepseek-v2", "deepseek_v3", "236B", 60, 5120},
    {"deepseek-v3", "deepseek_v3", "671B", 61, 7168},
    {"qwen3-30b-a3b", "qwen3", "30B-A3B", 48, 2048},
    {"qwen3-235b-a22b", "qwen3", "235B-A22B", 94, 4096},
}};

const Flavor& flavor_of(const ModelSpec& model) {
  const auto* const flavor =
      std::find_if(kFlavors.begin(), kFlavors.end(), [&](const Flavor& f) { return f.model == model.name; });
  const bool known = flavor != kFlavors.end() && flavor->layers == model.layers && flavor->hidden == model.hidden;
  std::vector<std::string_view> names;
  for (const Flavor& f : kFlavors) names.push_back(f.model);
  require_expressible(known, "model", fmt::format("torchtitan has no model of the sizes of {}", model.name),
                      fmt::format("it has {}", fmt::join(names, ", ")));
  require_expressible(model.prediction_layers == 0, "model.prediction_layers",
                      "torchtitan has no multi-token prediction", "set it to 0");
  return *flavor;
}

std::string list_in_toml(const std::vector<std::string>& words) {
  return fmt::format("[\"{}\"]", fmt::join(words, "\", \""));
}

// Returns the parts of "a,b".
std::vector<std::string> parts_of(const std::string& group) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= group.size();) {
    const std::size_t end = std::min(group.find(',', begin), group.size());
    out.push_back(group.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string value_in_toml(const LaunchOption& setting, OptionEntry::Form form) {
  using Form = OptionEntry::Form;
  if (form == Form::list) return list_in_toml(setting.words);
  if (form == Form::word) return fmt::format("\"{}\"", setting.words.front());
  if (form != Form::groups) return setting.words.front();
  std::vector<std::string> groups;
  for (const std::string& group : setting.words) groups.push_back(list_in_toml(parts_of(group)));
  return fmt::format("[{}]", fmt::join(groups, ", "));
}

std::string toml_text(const LaunchOptions& settings, const OptionList& list) {
  std::string out;
  std::string section;
  for (const LaunchOption& setting : settings.all()) {
    const std::size_t dot = setting.name.rfind('.');
    if (setting.name.substr(0, dot) != section) {
      section = setting.name.substr(0, dot);
      out += fmt::format("\n[{}]\n", section);
    }
    out +=
        fmt::format("{} = {}\n", setting.name.substr(dot + 1), value_in_toml(setting, list.find(setting.name)->form));
  }
  return out;
}

// Returns a setting as tyro takes it: a flag is negated by its name, a list is one word with commas.
LaunchOption in_command(const LaunchOption& setting, OptionEntry::Form form) {
  LaunchOption out{"--" + setting.name, setting.words};
  if (form == OptionEntry::Form::list) out.words = {fmt::format("{}", fmt::join(setting.words, ","))};
  if (form != OptionEntry::Form::flag) return out;
  if (setting.words.front() == "false") out.name.insert(out.name.rfind('.') + 1, "no-");
  out.words.clear();
  return out;
}

const Value* value_at(const Value& config, std::string_view section, std::string_view key) {
  const Value* found = config.find(section);
  return found == nullptr ? nullptr : found->find(key);
}

// Returns the named configuration of a flavor, from hw_profiles/launch/torchtitan.yaml.
const Value::Field& configuration_of(const Flavor& flavor, const Document& facts) {
  const Value* configs = facts.root().find("configs");
  if (configs == nullptr) fail_internal("hw_profiles/launch/torchtitan.yaml has no configs");
  for (const Value::Field& config : configs->fields) {
    const Value* name = value_at(config.value, "model", "name");
    const Value* size = value_at(config.value, "model", "flavor");
    if (name != nullptr && size != nullptr && name->scalar == flavor.name && size->scalar == flavor.flavor) {
      return config;
    }
  }
  fail_infeasible(
      {}, fmt::format("model: torchtitan has no configuration with a name of {} {}", flavor.name, flavor.flavor),
      "write one in Python, or choose another model");
}

// Checks precision: a configuration states the model's converters, and no option does.
void require_precision(const Job& job, const Value::Field& config) {
  const bool converted = value_at(config.value, "model", "converters") != nullptr;
  const bool narrow = job.recipe().scaling == Scaling::current;
  require_expressible(converted == narrow, "training.precision",
                      fmt::format("torchtitan's configuration {} {} its linear layers to fp8", config.key,
                                  converted ? "converts" : "does not convert"),
                      converted ? "choose fp8-current" : "choose bf16 or fp32");
  const Value* gathered = value_at(config.value, "quantize.linear.float8", "enable_fsdp_float8_all_gather");
  const bool gathers = gathered != nullptr && gathered->scalar == "true";
  require_expressible(
      !narrow || job.training.fp8_parameters == gathers, "training.fp8_parameters",
      fmt::format("torchtitan's configuration {} gathers parameters in {}", config.key, gathers ? "fp8" : "bf16"),
      gathers ? "set it to true" : "leave it out");
}

}  // namespace

LaunchProgram torchtitan_toml_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "torchtitan-toml");
  const Flavor& flavor = flavor_of(job.model);
  LaunchProgram out;
  out.start = {"-m", "torchtitan.train"};
  out.configured_by_file = true;
  out.comments = {list.title(), world_comment(job)};
  LaunchOptions model;
  model.value("model.name", flavor.name);
  model.value("model.flavor", flavor.flavor);
  if (job.recipe().scaling == Scaling::current) model.words("model.converters", {"quantize.linear.float8"});
  const LaunchOptions settings = torchtitan_settings(job, list, TitanForm::toml, out.files);
  for (const LaunchOption& setting : settings.all()) model.add(setting);
  list.require(model);
  out.files.push_back({"torchtitan.toml", comment_lines(out.comments) + toml_text(model, list)});
  out.options.value("--job.config_file", out.files.front().name);
  return out;
}

LaunchProgram torchtitan_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "torchtitan");
  const Document facts = Document::from_file(hardware / "launch" / "torchtitan.yaml");
  const Flavor& flavor = flavor_of(job.model);
  const Value::Field& config = configuration_of(flavor, facts);
  require_precision(job, config);
  LaunchProgram out;
  out.start = {"-m", "torchtitan.train"};
  out.comments = {list.title(), world_comment(job)};
  out.options.value("--module", flavor.name);
  out.options.value("--config", config.key);
  const LaunchOptions settings = torchtitan_settings(job, list, TitanForm::command, out.files);
  list.require(settings);
  for (const LaunchOption& setting : settings.all()) {
    out.options.add(in_command(setting, list.find(setting.name)->form));
  }
  return out;
}

}  // namespace mirfak
