#pragma once

#include "energy/profiled_pipeline.hpp"
#include "energy/stage_profile.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak::test {

// A GPU at 1, 2 or 3 MHz: a forward pass of f seconds at the highest clock takes 2 f at the lowest, and so does a
// backward pass, of twice the time and energy. `forward_s`: by stage.
StageProfile simple_profile(const std::vector<double>& forward_s);

ClockedProgram pipeline(const StageProfile& profile, int microbatches, ScheduleId schedule = schedule_named("1f1b"),
                        int chunks = 1, double blocked_w = 50);

// Measured profiles and published frontiers that are not part of the tree; empty where they are absent.
std::filesystem::path shared_file(const std::string& name);

// GPT-3 175B on A100 SXM, 8 stages.
inline constexpr const char* kGpt3Profile = "stage_profile/gpt3-175b+a100_sxm_bf16.csv";
inline constexpr double kA100BlockedW = 83.64;

}  // namespace mirfak::test
