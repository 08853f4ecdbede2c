#pragma once

#include "launch/launch_program.hpp"
#include "program/job.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

// One function per target of launch_arguments.hpp, each in the file of that name; `hardware`: as in LaunchRequest. What
// they return has been checked against the project's list of options.
LaunchProgram megatron_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram megatron_yaml_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram megatron_bridge_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram torchtitan_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram torchtitan_toml_program(const Job& job, const std::filesystem::path& hardware);
LaunchProgram deepspeed_program(const Job& job, const std::filesystem::path& hardware);

// The script that starts it on the nodes of the job's cluster, such that rank r runs where the prediction has it.
LaunchFile launch_script(const LaunchProgram& program, const Job& job, Launcher launcher);
std::string_view launch_script_name(Launcher launcher);

// Error(infeasible) for a key of the scenario, unless `expressible`.
void require_expressible(bool expressible, std::string_view key, std::string_view reason, std::string_view hint);

// "world size 128: 16 nodes of 8 GPUs", and what goes into the environment.
std::string world_comment(const Job& job);

}  // namespace mirfak
