#pragma once

#include "program/job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns the corrections that a user's own measured runs make to a job's nodes, one sentence for each type of node,
// and notes where the job lies beyond what these runs can tell. Empty: nothing is corrected.
std::vector<std::string> corrections_of(const Job& job);

}  // namespace mirfak
