#pragma once

#include "program/job.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A program that a job can be run with.
enum class LaunchTarget : std::uint8_t { megatron, torchtitan, deepspeed };

struct LaunchTargetInfo {
  LaunchTarget target;
  std::string_view name;
  std::string_view sentence;  // which program and version, and what the text is
  std::string (*arguments)(const Job& job);
};
std::span<const LaunchTargetInfo> launch_targets();
std::vector<std::string> launch_target_names();  // in the order of the enumeration

// What the program has to be given to run this job: model, batch, precision and strategy, not data, schedules of the
// learning rate or paths. Lines that start with # are comments. Error(infeasible) at the first key of the scenario that
// the program cannot express: what is returned reproduces the strategy.
std::string launch_arguments(const Job& job, LaunchTarget target);

}  // namespace mirfak
