#pragma once

#include "program/job.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A program that a job can be run with, and the form in which it takes its options.
enum class LaunchTarget : std::uint8_t {
  megatron,
  megatron_yaml,
  megatron_bridge,
  torchtitan,
  torchtitan_toml,
  deepspeed
};

// What starts the program's processes on the nodes.
enum class Launcher : std::uint8_t { none, torchrun, slurm };

struct LaunchTargetInfo {
  LaunchTarget target;
  std::string_view name;
  std::string_view sentence;  // which program, and what the text is
};
std::span<const LaunchTargetInfo> launch_targets();
std::vector<std::string> launch_target_names();  // in the order of the enumeration
std::vector<std::string> launcher_names();       // torchrun, slurm

struct LaunchRequest {
  LaunchTarget target{};
  Launcher launcher = Launcher::none;
  std::filesystem::path hardware;  // the folder hw_profiles/, for launch/: option names and releases of the projects
};

struct LaunchFile {
  std::string name;  // without a folder: "ds_config.json"
  std::string text;
};

// What the program has to be given to run this job: model, batch, precision and strategy, not data, schedules of the
// learning rate or paths. First the arguments, the configuration file or, with a launcher, the script that starts the
// program on all nodes; then the files that it names. Lines that start with # are comments; the first says which
// release the names of the options are of. Error(infeasible) at the first key of the scenario that the program, or its
// order of ranks, cannot express: what is returned reproduces the strategy. Error(input) for data folders without the
// lists.
std::vector<LaunchFile> launch_files(const Job& job, const LaunchRequest& request);

// All of them in one text: each behind the first follows a comment with its name.
std::string launch_text(std::span<const LaunchFile> files);

// The names that the files have, those of schedules and the like included, whichever job it is.
std::vector<std::string> launch_file_names(const LaunchRequest& request);

}  // namespace mirfak
