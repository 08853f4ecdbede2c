#pragma once

#include "energy/cost_curve.hpp"
#include "schedule/schedule.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Measurements of the passes of each stage at the clocks of its GPU. Energies are all energy that the GPU took while it
// ran the pass, including what it would have drawn waiting.
struct StageProfile {
  std::string name;  // origin of the profile, for messages
  // By stage, then by kind of pass (Pass::Kind), in the order of the file: at least one choice for each whole pass, and
  // for each split backward pass if a schedule has such passes.
  std::vector<std::array<std::vector<ClockChoice>, 4>> stages;
};

// Reads a table with the columns stage, instruction (forward, backward, backward_input or backward_weight), frequency
// (MHz), time (s), energy (J), in any order of columns and rows: the format of Perseus. Error(input) at the field that
// is no number, is out of range, or is an unknown instruction, and at a row with the same stage, instruction and
// frequency as an earlier row; at the file for a stage or an instruction without rows.
StageProfile read_stage_profile(const std::filesystem::path& path);
StageProfile read_stage_profile_text(std::string_view text, std::string name);

}  // namespace mirfak
