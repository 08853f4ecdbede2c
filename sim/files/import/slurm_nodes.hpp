#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The GPUs of a node's generic resources.
struct SlurmGpus {
  std::string name;  // "" if the resource has no type
  std::int64_t count = 0;
  bool several = false;  // GPUs of several types, or parts of GPUs
};

// Parses "gpu:h100:8(S:0-1),nvme:1", "gpu:8", "(null)". Error(input) at `where` for a text that is cut off or has no
// number.
SlurmGpus slurm_gpus(std::string_view text, const Location& where);

// True if jobs run on a node in this state, now or when other jobs end. Takes states of sinfo ("mix", "idle~",
// "drain*") and of scontrol ("IDLE+CLOUD+POWERED_DOWN", "MIXED+DRAIN").
bool is_usable_state(std::string_view state);

// Splits "a,b" at commas; "(null)" and "" give an empty list.
std::vector<std::string> slurm_list(std::string_view text);

}  // namespace mirfak
