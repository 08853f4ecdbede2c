// The YAML of Megatron-LM's --yaml-cfg: megatron/training/yaml_arguments.py, which checks and derives less than the
// arguments do; options that it does not pass on are refused here.

#include "launch/core_dialect.hpp"
#include "launch/launch_targets.hpp"
#include "launch/megatron_options.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

namespace {

void require_yaml(const Job& job) {
  const Strategy& s = job.strategy;
  require_expressible(s.virtual_pipeline == 1 || s.pipeline > 2, "strategy.virtual_pipeline",
                      "Megatron-LM's YAML interleaves from 3 stages on", "use the arguments, or more stages");
  require_expressible(s.virtual_pipeline == 1 || (s.layer_split.empty() && s.counted_as_layers() == 0),
                      s.layer_split.empty() ? "strategy.virtual_pipeline" : "strategy.layer_split",
                      "Megatron-LM's YAML divides layers evenly among several chunks of a stage", "use the arguments");
  require_expressible(job.training.precision != "fp16" || s.expert == 1, "strategy.expert",
                      "Megatron-LM's YAML has no expert parallelism in fp16", "choose bf16, or use the arguments");
  const bool narrow_sums = job.recipe().activations == "bf16" && gradient_bytes(job) <= 2;
  require_expressible(!narrow_sums, "training.gradient_precision",
                      "Megatron-LM's YAML reduces the gradients of bf16 in fp32", "set it to fp32");
}

// Returns sections in the order of their first field, after the fields without a section.
std::string yaml_text(const std::vector<CoreField>& fields) {
  std::string out;
  std::vector<std::string> sections;
  for (const CoreField& field : fields) {
    const std::size_t dot = field.path.find('.');
    if (dot == std::string::npos) out += fmt::format("{}: {}\n", field.path, field.value);
    const std::string section = dot == std::string::npos ? "" : field.path.substr(0, dot);
    const bool known = std::find(sections.begin(), sections.end(), section) != sections.end();
    if (!known && !section.empty()) sections.push_back(section);
  }
  for (const std::string& section : sections) {
    out += fmt::format("{}:\n", section);
    for (const CoreField& field : fields) {
      if (!field.path.starts_with(section + ".")) continue;
      out += fmt::format("  {}: {}\n", field.path.substr(section.size() + 1), field.value);
    }
  }
  return out;
}

}  // namespace

LaunchProgram megatron_yaml_program(const Job& job, const std::filesystem::path& hardware) {
  require_yaml(job);
  const OptionList list(hardware, "megatron-yaml");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.configured_by_file = true;
  out.comments = {list.title(), world_comment(job),
                  "pretrain_gpt.py reads nothing beside this file: add data, learning rate and all other arguments"};
  const std::vector<CoreField> fields =
      CoreDialect(hardware, "megatron-yaml").fields_of(megatron_options(job, {.fields = true}), list);
  out.files.push_back({"megatron.yaml", comment_lines(out.comments) + yaml_text(fields)});
  out.options.value("--yaml-cfg", out.files.front().name);
  OptionList(hardware, "megatron").require(out.options);
  out.environment = megatron_environment(job);
  return out;
}

}  // namespace mirfak
