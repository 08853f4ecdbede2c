#pragma once

#include "base/document.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/launch_program.hpp"
#include "program/job.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// Functions for the targets of launch_arguments.hpp, each in the file of that name; `hardware`: as in LaunchRequest.
// Their results are checked against the project's list of options.
LaunchProgram megatron_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram megatron_yaml_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram megatron_bridge_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram torchtitan_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram torchtitan_toml_program(const Job& job, const std::filesystem::path& hardware);
// Returns the settings of torchtitan_toml_program() as options of a command line, which count instead of those of a
// TOML file that the same command names; files: none that the options do not name.
LaunchProgram torchtitan_overrides(const Job& job, const std::filesystem::path& hardware);
LaunchProgram llama_factory_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram axolotl_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram accelerate_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram deepspeed_program(const Job& job, const std::filesystem::path& hardware);

// Returns the script that starts the program on the nodes of the job's cluster, so that rank r runs on the device on
// which the prediction has it.
LaunchFile launch_script(const LaunchProgram& program, const Job& job, Launcher launcher);
std::string_view launch_script_name(Launcher launcher);

// A list of options by which a target is written, and the beginning of keys that other files decide ("": none).
struct TargetList {
  std::string_view name;
  std::string_view elsewhere;
};
std::span<const TargetList> target_lists(LaunchTarget target);

// The reason why no target takes stages of their own shape.
inline constexpr std::string_view kNoShapes = "these programs have no pipeline stages of their own shape";

// Throws Error(infeasible) for a key of the scenario, unless `expressible`.
void require_expressible(bool expressible, std::string_view key, std::string_view reason, std::string_view hint);

// Returns the entry of a section of a program's facts that has the job's model with these sizes: {model: NAME, layers:
// 32, hidden: 4096}. Sizes reveal a model that was changed. Error(infeasible) if there is none; `lacks`: "torchtitan
// has no model".
const Value::Field& entry_of_model(const ModelSpec& model, const Value& facts, std::string_view section,
                                   std::string_view lacks);

// Returns "world size 128: 16 nodes of 8 GPUs", and the variables of the environment.
std::string world_comment(const Job& job);

}  // namespace mirfak
