#include "launch/launch_arguments.hpp"

#include "base/error.hpp"
#include "launch/launch_targets.hpp"

#include <array>

namespace mirfak {

namespace {

struct TargetWriter {
  LaunchTargetInfo info;
  LaunchProgram (*program)(const Job& job, const std::filesystem::path& hardware);
  std::string_view arguments;  // file of the arguments if there is no launcher
  std::string_view file;       // file that the options may name; "": none
  std::array<TargetList, 2> lists;
};

constexpr std::array kTargets = {
    TargetWriter{{LaunchTarget::megatron, "megatron", "Megatron-LM: command-line arguments of pretrain_gpt.py."},
                 megatron_program,
                 "arguments.txt",
                 "",
                 {{{"megatron", ""}}}},
    TargetWriter{{LaunchTarget::megatron_yaml, "megatron-yaml", "Megatron-LM: the keys of its --yaml-cfg."},
                 megatron_yaml_program,
                 "",
                 "megatron.yaml",
                 {{{"megatron-yaml", ""}, {"megatron", ""}}}},
    TargetWriter{
        {LaunchTarget::megatron_bridge, "megatron-bridge", "Megatron-Bridge: a recipe and overrides of run_recipe.py."},
        megatron_bridge_program,
        "arguments.txt",
        "",
        {{{"megatron-bridge", ""}, {"megatron", "model."}}}},
    TargetWriter{{LaunchTarget::torchtitan, "torchtitan",
                  "torchtitan: --module, --config and options, and a CSV of the schedule where it has no name."},
                 torchtitan_program,
                 "arguments.txt",
                 "schedule.csv",
                 {{{"torchtitan", ""}}}},
    TargetWriter{{LaunchTarget::torchtitan_toml, "torchtitan-toml", "torchtitan until v0.2.2: a TOML file."},
                 torchtitan_toml_program,
                 "",
                 "torchtitan.toml",
                 {{{"torchtitan-toml", ""}}}},
    TargetWriter{{LaunchTarget::deepspeed, "deepspeed",
                  "DeepSpeed: arguments of Megatron-DeepSpeed's pretrain_gpt.py, and a JSON file."},
                 deepspeed_program,
                 "arguments.txt",
                 "ds_config.json",
                 {{{"megatron-deepspeed", ""}, {"deepspeed", ""}}}},
    TargetWriter{{LaunchTarget::accelerate, "accelerate",
                  "Hugging Face: options of TRL's sft, and the configuration of accelerate launch."},
                 accelerate_program,
                 "arguments.txt",
                 "config.yaml",
                 {{{"hugging-face", ""}}}},
    TargetWriter{{LaunchTarget::llama_factory, "llama-factory",
                  "LLaMA-Factory: a YAML file, and the configuration of accelerate launch."},
                 llama_factory_program,
                 "",
                 "llama_factory.yaml",
                 {{{"hugging-face", ""}}}},
    TargetWriter{
        {LaunchTarget::axolotl, "axolotl", "axolotl: a YAML file, and the configuration of accelerate launch."},
        axolotl_program,
        "",
        "axolotl.yaml",
        {{{"hugging-face", ""}}}},
};

constexpr auto kInfos = [] {
  std::array<LaunchTargetInfo, kTargets.size()> out{};
  for (std::size_t i = 0; i < kTargets.size(); ++i) out[i] = kTargets[i].info;
  return out;
}();

void require_plain(const Job& job) {
  if (!job.model.blocks.empty()) {
    fail_infeasible({}, "model: the arguments of these programs describe GPT and its relatives, not a model of blocks",
                    "name a model that states layers, hidden, heads, ...");
  }
  require_expressible(job.model.head.kind == HeadKind::language, "model.head",
                      "these programs train language models, with a head over the vocabulary", "");
  const Strategy& s = job.strategy;
  require_expressible(s.stages.empty(), "strategy.stages", kNoShapes, "leave it out");
  require_expressible(s.replica_microbatches.empty(), "strategy.replica_microbatches",
                      "these programs give all replicas the same microbatches", "leave it out");
  require_expressible(job.training.documents.empty(), "training.document_lengths",
                      "the data decide how sequences are packed, not these arguments", "leave it out");
}

}  // namespace

std::span<const LaunchTargetInfo> launch_targets() { return kInfos; }

std::span<const TargetList> target_lists(LaunchTarget target) {
  const std::array<TargetList, 2>& lists = kTargets.at(static_cast<std::size_t>(target)).lists;
  return {lists.data(), lists[1].name.empty() ? std::size_t{1} : lists.size()};
}

std::vector<std::string> launch_target_names() {
  std::vector<std::string> names;
  for (const LaunchTargetInfo& info : kInfos) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> launcher_names() { return {"torchrun", "slurm"}; }

std::vector<LaunchFile> launch_files(const Job& job, const LaunchRequest& request) {
  require_plain(job);
  const TargetWriter& target = kTargets.at(static_cast<std::size_t>(request.target));
  const LaunchProgram program = target.program(job, request.hardware);
  std::vector<LaunchFile> out;
  if (request.launcher != Launcher::none) {
    out.push_back(launch_script(program, job, request.launcher));
  } else if (!program.configured_by_file) {
    out.push_back({std::string(target.arguments), comment_lines(program.comments) + shell_lines(program.options)});
  }
  out.insert(out.end(), program.files.begin(), program.files.end());
  return out;
}

std::string launch_text(std::span<const LaunchFile> files) {
  std::string out = files.front().text;
  for (const LaunchFile& file : files.subspan(1)) out += fmt::format("# {}\n{}", file.name, file.text);
  return out;
}

std::vector<std::string> launch_file_names(const LaunchRequest& request) {
  const TargetWriter& target = kTargets.at(static_cast<std::size_t>(request.target));
  const std::string_view first =
      request.launcher == Launcher::none ? target.arguments : launch_script_name(request.launcher);
  std::vector<std::string> out;
  for (const std::string_view name : {first, target.file}) {
    if (!name.empty()) out.emplace_back(name);
  }
  return out;
}

}  // namespace mirfak
