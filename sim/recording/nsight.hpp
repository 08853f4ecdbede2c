#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What Nsight Systems recorded, as `nsys export --type sqlite` writes it: one recording per process that ran kernels,
// in the order of their numbers. Error(input) with the file and the table for what is no such database, for tables and
// columns that are needed and absent, values of another type, times that are none, and more than 50 million events.
std::vector<Recording> read_nsight(const std::filesystem::path& path, const KernelClasses& classes);
std::vector<Recording> read_nsight_bytes(std::string_view bytes, const std::string& name, const KernelClasses& classes);

}  // namespace mirfak
