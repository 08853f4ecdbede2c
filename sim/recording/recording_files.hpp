#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <vector>

namespace mirfak {

// Whether this is a profiler's recording: by its name (.json, .json.gz), or because it begins as databases of SQLite
// do, whatever it is called.
bool is_recording_file(const std::filesystem::path& path);

// The one recording of a file. Error(input) where it holds several processes.
Recording read_recording(const std::filesystem::path& path, const KernelClasses& classes);

// The recordings of a file, one per process; of a folder those of its files, one per rank, in the order of ranks and
// then of names. A rank that two of them claim is Error(input), and so is a folder without one.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const KernelClasses& classes);

}  // namespace mirfak
