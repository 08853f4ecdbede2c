#pragma once

#include "program/job.hpp"

#include <filesystem>
#include <string>

namespace mirfak::python {

// The arguments or files with which a program runs a job, in one text. `launcher`: "": none. `hardware`: hw_profiles/.
// Error(input) for a target or launcher that is not known, Error(infeasible) for what the program cannot express.
std::string launch_text_of(const Job& job, const std::string& target, const std::string& launcher,
                           const std::filesystem::path& hardware);

}  // namespace mirfak::python
