#pragma once

#include "energy/cost_curve.hpp"
#include "schedule/schedule.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What was measured of one stage's passes at the clocks of its GPU. All energy that the GPU took while it ran the pass
// counts, with what it would have drawn waiting.
struct StageProfile {
  std::string name;  // where it is from, for messages
  // By stage, then by kind of pass (Pass::Kind), in the order of the file: at least one each of whole passes, and of
  // split backward passes where a schedule has such.
  std::vector<std::array<std::vector<ClockChoice>, 4>> stages;
};

// A table with the columns stage, instruction (forward, backward, backward_input or backward_weight), frequency (MHz),
// time (s), energy (J), in any order of columns and rows: the format of Perseus. Error(input) at the field for what is
// no number, out of range, an unknown instruction, or a row of the same stage, instruction and frequency as one before;
// at the file for a stage or an instruction without rows.
StageProfile read_stage_profile(const std::filesystem::path& path);
StageProfile read_stage_profile_text(std::string_view text, std::string name);

}  // namespace mirfak
