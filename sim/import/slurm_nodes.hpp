#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The GPUs of a node's generic resources.
struct SlurmGpus {
  std::string name;  // "" where the resource has no type
  std::int64_t count = 0;
  bool several = false;  // of several types, parts of GPUs among them
};

// "gpu:h100:8(S:0-1),nvme:1", "gpu:8", "(null)". Error(input) at `where` for what is cut or has no number.
SlurmGpus slurm_gpus(std::string_view text, const Location& where);

// Whether jobs run on a node in this state, now or when others end: of sinfo ("mix", "idle~", "drain*") or scontrol
// ("IDLE+CLOUD+POWERED_DOWN", "MIXED+DRAIN").
bool is_usable_state(std::string_view state);

// "a,b" apart; "(null)" and "" hold nothing.
std::vector<std::string> slurm_list(std::string_view text);

}  // namespace mirfak
