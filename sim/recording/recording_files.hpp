#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <vector>

namespace mirfak {

// Whether this path is a profiler's recording by its name: .json, .json.gz.
bool is_recording_file(const std::filesystem::path& path);

// The recording of a file; of a folder those of its files, one per rank, in the order of ranks and then of names. A
// rank that two of them claim is Error(input), and so is a folder without one.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const KernelClasses& classes);

}  // namespace mirfak
