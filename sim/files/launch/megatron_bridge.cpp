// Megatron-Bridge v0.6.0: a recipe by name, and overrides of its ConfigContainer. Sources of the valid combinations:
// src/megatron/bridge/training/config.py, comm_overlap.py and mixed_precision.py.

#include "base/error.hpp"
#include "launch/core_dialect.hpp"
#include "launch/launch_targets.hpp"
#include "launch/megatron_options.hpp"
#include "launch/option_writer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr std::string_view kPrecision = "mixed_precision.";

const Value& section_of(const CoreDialect& dialect, std::string_view name) {
  const Value* found = dialect.facts().find(name);
  if (found == nullptr) fail_internal(fmt::format("hw_profiles/launch/megatron-bridge.yaml has no {}", name));
  return *found;
}

// Returns the recipe of the job's model; sizes of the recipes reveal a model that was changed.
std::string recipe_of(const Job& job, const CoreDialect& dialect) {
  const ModelSpec& model = job.model;
  std::vector<std::string> names;
  for (const Value::Field& recipe : section_of(dialect, "pretraining_recipes").fields) {
    const auto is = [&](std::string_view key, const std::string& size) {
      return recipe.value.find(key)->scalar == size;
    };
    names.push_back(recipe.value.find("model")->scalar);
    if (is("model", model.name) && is("layers", std::to_string(model.layers)) &&
        is("hidden", std::to_string(model.hidden))) {
      return recipe.key;
    }
  }
  require_expressible(false, "model", fmt::format("Megatron-Bridge has no recipe of the sizes of {}", model.name),
                      fmt::format("it has {}", fmt::join(names, ", ")));
  return {};
}

using Words = std::map<std::string, std::string>;

// Returns the named precision that has these fields.
std::string precision_of(const Words& fields, const CoreDialect& dialect) {
  for (const Value::Field& named : section_of(dialect, "mixed_precisions").fields) {
    Words its;
    for (const Value::Field& field : named.value.fields) its[field.key] = field.value.scalar;
    if (its == fields) return named.key;
  }
  std::vector<std::string> said;
  for (const auto& [path, value] : fields) said.push_back(fmt::format("{}={}", path.substr(kPrecision.size()), value));
  require_expressible(false, "training.precision",
                      fmt::format("Megatron-Bridge has no mixed precision of {}", fmt::join(said, ", ")),
                      "choose another precision, gradient_precision or fp8_parameters");
  return {};
}

// Returns the options that are not about the model, which the recipe says.
LaunchOptions without_model(const LaunchOptions& options, const OptionList& list) {
  LaunchOptions out;
  const std::size_t end = list.place("--tensor-model-parallel-size");
  for (const LaunchOption& option : options.all()) {
    if (list.place(option.name) >= end) out.add(option);
  }
  return out;
}

}  // namespace

LaunchProgram megatron_bridge_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "megatron-bridge");
  require_possible(job, list);
  const OptionList& arguments = option_list(hardware, "megatron");
  const CoreDialect dialect(hardware, "megatron-bridge");
  LaunchProgram out;
  out.start = {"scripts/training/run_recipe.py"};
  out.comments = {list.title(), world_comment(job)};
  out.options.value("--recipe", recipe_of(job, dialect));
  out.options.value("--mode", "pretrain");
  out.options.override_of("dataset.seq_length", job.training.sequence_length);
  Words precision;
  const MegatronStyle style{.fields = true, .by_recipe = true};
  const LaunchOptions options = without_model(megatron_options(job, arguments, style), arguments);
  for (const CoreField& field : dialect.fields_of(options, list)) {
    if (field.path.starts_with(kPrecision)) {
      precision[field.path] = field.value;
    } else {
      out.options.override_of(field.path, field.value);
    }
  }
  out.options.override_of("mixed_precision", precision_of(precision, dialect));
  out.environment = megatron_environment(job);
  list.require(out.options);
  return out;
}

}  // namespace mirfak
