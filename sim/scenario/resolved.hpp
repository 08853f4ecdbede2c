#pragma once

#include "program/job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The scenario of a job as YAML, every key written out. `model`: the model as the scenario names it.
std::string resolved_yaml(const Job& job, const std::string& model);

const std::vector<std::string>& recompute_names();  // in the order of the enumeration

}  // namespace mirfak
