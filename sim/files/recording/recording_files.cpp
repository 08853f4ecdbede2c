#include "recording/recording_files.hpp"

#include "base/error.hpp"
#include "recording/kineto.hpp"
#include "recording/nsight.hpp"
#include "recording/sqlite_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>

namespace mirfak {

namespace fs = std::filesystem;

namespace {

// Reads the recordings of one file: a file of Nsight Systems may hold several processes.
std::vector<Recording> recordings_of(const fs::path& file, const KernelClasses& classes) {
  if (is_sqlite_file(file)) return read_nsight(file, classes);
  std::vector<Recording> out;
  out.push_back(read_kineto(file, classes));
  return out;
}

}  // namespace

bool is_recording_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz") || is_sqlite_file(path);
}

Recording read_recording(const fs::path& path, const KernelClasses& classes) {
  std::vector<Recording> all = recordings_of(path, classes);
  if (all.size() > 1) {
    fail_input({path.string(), 0, 0}, fmt::format("holds {} processes, and one rank is expected", all.size()),
               "record one process per file (`nsys profile -o rank%q{RANK}` in front of each)");
  }
  return std::move(all.front());
}

std::vector<Recording> read_recordings(const fs::path& path, const KernelClasses& classes) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return recordings_of(path, classes);
  std::vector<Recording> out;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (is_recording_file(entry->path())) files.push_back(entry->path());
  }
  if (failed) fail_input({path.string(), 0, 0}, "cannot be read: " + failed.message());
  if (files.empty()) {
    fail_input({path.string(), 0, 0}, "the folder holds no recording",
               "expected files *.json, *.json.gz, or databases of Nsight Systems");
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::vector<Recording> of_file = recordings_of(file, classes);
    std::move(of_file.begin(), of_file.end(), std::back_inserter(out));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Recording& one, const Recording& other) { return one.rank < other.rank; });
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (!out[i].rank || out[i].rank != out[i - 1].rank) continue;
    fail_input({out[i].file, 0, 0}, fmt::format("is of rank {}, as {} is", *out[i].rank, out[i - 1].file),
               "give the recordings of one run, a file per rank");
  }
  return out;
}

}  // namespace mirfak
