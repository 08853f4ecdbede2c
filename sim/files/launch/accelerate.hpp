#pragma once

#include "launch/launch_program.hpp"
#include "program/job.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// A job as Hugging Face's Trainer runs it, started by accelerate launch.
struct AcceleratedJob {
  LaunchOptions trainer;            // settings in the Trainer's names, without dashes
  LaunchFile configuration;         // of accelerate launch
  std::vector<std::string> titles;  // releases of both
};

// Error(infeasible) at the first key of the scenario that the Trainer or Accelerate cannot express.
AcceleratedJob accelerated_job(const Job& job, const std::filesystem::path& hardware);

}  // namespace mirfak
