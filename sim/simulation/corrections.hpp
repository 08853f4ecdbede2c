#pragma once

#include "program/job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What a user's own measured runs correct of a job's nodes, a sentence for each type, and where the job lies beyond
// what they can say. Empty: nothing is corrected.
std::vector<std::string> corrections_of(const Job& job);

}  // namespace mirfak
