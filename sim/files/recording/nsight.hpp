#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Reads a database of Nsight Systems, as `nsys export --type sqlite` writes it: one recording for each process that ran
// kernels, in the order of the processes' numbers. Error(input) with the file and the table for a file that is not such
// a database, for missing tables and columns that are needed, values of another type, invalid times, and more than 50
// million events.
std::vector<Recording> read_nsight(const std::filesystem::path& path, const KernelClasses& classes);
std::vector<Recording> read_nsight_bytes(std::string_view bytes, const std::string& name, const KernelClasses& classes);

}  // namespace mirfak
