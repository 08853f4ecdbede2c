#pragma once

#include "scenario/jobs_file.hpp"
#include "simulation/joint_jobs.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace mirfak {

// What `mirfak simulate` says of several jobs on one cluster. `result` is that of the file's jobs.
std::string jobs_text(const JobsFile& file, const JointResult& result);
nlohmann::ordered_json jobs_json(const JobsFile& file, const JointResult& result);

// "0-15,32"
std::string nodes_text(std::span<const int> nodes);

}  // namespace mirfak
