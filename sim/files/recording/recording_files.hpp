#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <vector>

namespace mirfak {

// True if the file is a profiler's recording: by its name (.json, .json.gz), or, under any name, because it begins as
// SQLite databases do.
bool is_recording_file(const std::filesystem::path& path);

// Reads the only recording of a file. Error(input) if the file holds several processes.
Recording read_recording(const std::filesystem::path& path, const KernelClasses& classes);

// Reads the recordings of a file, one for each process, or of the files of a folder, one for each rank, in the order of
// ranks and then of names. Error(input) if two recordings have the same rank, and for a folder without a recording.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const KernelClasses& classes);

}  // namespace mirfak
