// The YAML of Megatron-LM's --yaml-cfg: megatron/training/yaml_arguments.py, which checks and derives less than the
// arguments do; options that it does not pass on are refused here.

#include "launch/core_dialect.hpp"
#include "launch/launch_targets.hpp"
#include "launch/megatron_options.hpp"
#include "launch/option_writer.hpp"

#include <vector>

namespace mirfak {

namespace {

LaunchOptions settings_of(const std::vector<CoreField>& fields) {
  LaunchOptions out;
  for (const CoreField& field : fields) out.value(field.path, field.value);
  return out;
}

}  // namespace

LaunchProgram megatron_yaml_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "megatron-yaml");
  require_possible(job, list);
  const OptionList& arguments = option_list(hardware, "megatron");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.configured_by_file = true;
  out.comments = {list.title(), world_comment(job),
                  "pretrain_gpt.py reads nothing but this file: add data, learning rate and all other arguments"};
  const std::vector<CoreField> fields =
      core_fields(megatron_options(job, arguments, {.fields = true}), list, launch_facts(hardware, "megatron-yaml"));
  out.files.push_back({"megatron.yaml", comment_lines(out.comments) + yaml_text(settings_of(fields))});
  out.options.value("--yaml-cfg", out.files.front().name);
  arguments.require(out.options);
  out.environment = megatron_environment(job);
  return out;
}

}  // namespace mirfak
