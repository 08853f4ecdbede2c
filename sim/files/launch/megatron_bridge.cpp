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

using Words = std::map<std::string, std::string>;

// Returns the named precision that has these fields.
std::string precision_of(const Words& fields, const Document& facts) {
  for (const Value::Field& named : facts.root().find("mixed_precisions")->fields) {
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
  const Document& facts = launch_facts(hardware, "megatron-bridge");
  LaunchProgram out;
  out.start = {"scripts/training/run_recipe.py"};
  out.comments = {list.title(), world_comment(job)};
  out.options.value(
      "--recipe", entry_of_model(job.model, facts.root(), "pretraining_recipes", "Megatron-Bridge has no recipe").key);
  out.options.value("--mode", "pretrain");
  out.options.override_of("dataset.seq_length", job.training.sequence_length);
  Words precision;
  const MegatronStyle style{.fields = true, .by_recipe = true};
  const LaunchOptions options = without_model(megatron_options(job, arguments, style), arguments);
  for (const CoreField& field : core_fields(options, list, facts)) {
    if (field.path.starts_with(kPrecision)) {
      precision[field.path] = field.value;
    } else {
      out.options.override_of(field.path, field.value);
    }
  }
  out.options.override_of("mixed_precision", precision_of(precision, facts));
  out.environment = megatron_environment(job);
  out.unset = megatron_unset(job);
  list.require(out.options);
  return out;
}

}  // namespace mirfak
