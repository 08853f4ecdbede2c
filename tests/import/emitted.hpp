// Drawn jobs, the files that are written of them for a target, and the jobs that are read back.

#pragma once

#include "launch/launch_arguments.hpp"
#include "launch_files.hpp"

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mirfak {

// A drawn job as a scenario on four nodes of eight GPUs; not every draw can run, or be run by the program.
std::string drawn_torchtitan_job(std::mt19937& random);
std::string drawn_megatron_job(std::mt19937& random);
std::string drawn_deepspeed_job(std::mt19937& random);
std::string drawn_accelerate_job(std::mt19937& random);

// The scenario of such a text; nullopt where it cannot run.
std::optional<Scenario> drawn_scenario(const std::string& text);
// The files that are written of a job; nullopt where the program cannot express it.
std::optional<std::vector<LaunchFile>> written_files(const Job& job, LaunchTarget target,
                                                     Launcher launcher = Launcher::none);

// The job that written files are read back as, on nodes such as "hgx-h100:4". An order of passes that has no name for
// the program comes back as the file that has it.
Job read_back_job(const std::vector<LaunchFile>& files, const std::string& nodes);
// Gives a job the schedule of another, if both are the same order of passes and a file has the other's.
void compare_schedules(Job& before, const Job& after);

// Writes so many drawn jobs, reads the files back from a folder, and compares the strategies.
void check_read_back(LaunchTarget target, Launcher launcher, int jobs,
                     const std::function<std::string(std::mt19937&)>& draw);

}  // namespace mirfak
