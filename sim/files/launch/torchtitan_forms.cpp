// torchtitan's settings as a TOML file (releases until v0.2.2), and as options of its command line (after it). Models
// and their flavors: models/*/__init__.py, models/*/config_registry.py.

#include "base/document.hpp"
#include "base/error.hpp"
#include "launch/launch_targets.hpp"
#include "launch/torchtitan_settings.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Returns the name and flavor of the job's model among the facts of hw_profiles/launch/torchtitan.yaml.
const Value::Field& flavor_of(const Job& job, const Document& facts) {
  const Value::Field& found = entry_of_model(job.model, facts.root(), "written_models", "torchtitan has no model");
  require_expressible(job.model.prediction_layers == 0, "model.prediction_layers",
                      "torchtitan has no multi-token prediction", "set it to 0");
  return found;
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

// Returns a setting as tyro takes it: a flag is negated by its name, a list is one word with commas, a subcommand and
// its word are one.
LaunchOption in_command(const LaunchOption& setting, OptionEntry::Form form) {
  LaunchOption out{"--" + setting.name, setting.words};
  if (form == OptionEntry::Form::subcommand) {
    out = {fmt::format("{}:{}", setting.name, setting.words.front()), {}};
    std::replace(out.name.begin(), out.name.end(), '_', '-');
    return out;
  }
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

// Returns the named configuration of a flavor.
const Value::Field& configuration_of(const Value::Field& flavor, const Document& facts) {
  const std::vector<Value::Field>& configs = facts.root().find("configs")->fields;
  const auto found =
      std::find_if(configs.begin(), configs.end(), [&](const auto& one) { return one.key == flavor.key; });
  if (found != configs.end()) return *found;
  fail_infeasible({},
                  fmt::format("model: torchtitan has no configuration with a name of {} {}",
                              flavor.value.find("name")->scalar, flavor.value.find("flavor")->scalar),
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

// Returns all settings of a job in the words of the releases that read TOML.
LaunchOptions toml_settings(const Job& job, const OptionList& list, const Document& facts,
                            std::vector<LaunchFile>& files) {
  const Value::Field& flavor = flavor_of(job, facts);
  LaunchOptions out;
  out.value("model.name", flavor.value.find("name")->scalar);
  out.value("model.flavor", flavor.value.find("flavor")->scalar);
  const Scaling scaling = job.recipe().scaling;
  if (scaling == Scaling::current || scaling == Scaling::rows)
    out.words("model.converters", {"quantize.linear.float8"});
  const LaunchOptions settings = torchtitan_settings(job, list, false, files);
  for (const LaunchOption& setting : settings.all()) out.add(setting);
  list.require(out);
  return out;
}

}  // namespace

LaunchProgram torchtitan_toml_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "torchtitan-toml");
  LaunchProgram out;
  out.start = {"-m", "torchtitan.train"};
  out.configured_by_file = true;
  out.comments = {list.title(), world_comment(job)};
  const LaunchOptions model = toml_settings(job, list, launch_facts(hardware, "torchtitan"), out.files);
  out.files.push_back({"torchtitan.toml", comment_lines(out.comments) + toml_text(model, list)});
  out.options.value("--job.config_file", out.files.front().name);
  return out;
}

LaunchProgram torchtitan_overrides(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "torchtitan-toml");
  LaunchProgram out;
  const LaunchOptions settings = toml_settings(job, list, launch_facts(hardware, "torchtitan"), out.files);
  for (const LaunchOption& setting : settings.all())
    out.options.add(in_command(setting, list.find(setting.name)->form));
  return out;
}

LaunchProgram torchtitan_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "torchtitan");
  const Document& facts = launch_facts(hardware, "torchtitan");
  const Value::Field& flavor = flavor_of(job, facts);
  const Value::Field& config = configuration_of(flavor, facts);
  require_precision(job, config);
  LaunchProgram out;
  out.start = {"-m", "torchtitan.train"};
  out.comments = {list.title(), world_comment(job)};
  out.options.value("--module", flavor.value.find("name")->scalar);
  out.options.value("--config", config.key);
  const LaunchOptions settings = torchtitan_settings(job, list, true, out.files);
  list.require(settings);
  for (const LaunchOption& setting : settings.all()) {
    out.options.add(in_command(setting, list.find(setting.name)->form));
  }
  return out;
}

}  // namespace mirfak
