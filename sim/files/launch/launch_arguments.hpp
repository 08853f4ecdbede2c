#pragma once

#include "program/job.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A program that can run a job, and the form of its options.
enum class LaunchTarget : std::uint8_t {
  megatron,
  megatron_yaml,
  megatron_bridge,
  torchtitan,
  torchtitan_toml,
  deepspeed,
  accelerate,
  llama_factory,
  axolotl
};

// The tool that starts the program's processes on the nodes.
enum class Launcher : std::uint8_t { none, torchrun, slurm };

struct LaunchTargetInfo {
  LaunchTarget target;
  std::string_view name;
  std::string_view sentence;  // the program, and the kind of text
};
std::span<const LaunchTargetInfo> launch_targets();
std::vector<std::string> launch_target_names();  // in the order of the enumeration
std::vector<std::string> launcher_names();       // torchrun, slurm

struct LaunchRequest {
  LaunchTarget target{};
  Launcher launcher = Launcher::none;
  std::filesystem::path hardware;  // the folder hw_profiles/; its launch/ has option names and releases of the projects
};

struct LaunchFile {
  std::string name;  // without a folder: "ds_config.json"
  std::string text;
};

// Returns the program's input to run this job: model, batch, precision and strategy, without data, schedules of the
// learning rate or paths. The first file holds the arguments, the configuration file or, with a launcher, the script
// that starts the program on all nodes; the others are the files that it names. Lines that start with # are comments;
// the first comment states the release of the options' names. Error(infeasible) at the first key of the scenario that
// the program, or its order of ranks, cannot express: the returned files reproduce the strategy. Error(input) for data
// folders without the lists.
std::vector<LaunchFile> launch_files(const Job& job, const LaunchRequest& request);

// Returns all files in one text; a comment with its name precedes each file after the first.
std::string launch_text(std::span<const LaunchFile> files);

// Returns the names that the files may have for any job, including those of schedules and the like.
std::vector<std::string> launch_file_names(const LaunchRequest& request);

}  // namespace mirfak
