#include "recording/recording_files.hpp"

#include "base/error.hpp"
#include "recording/kineto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

namespace mirfak {

namespace fs = std::filesystem;

bool is_recording_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

std::vector<Recording> read_recordings(const fs::path& path, const KernelClasses& classes) {
  std::vector<Recording> out;
  std::error_code failed;
  if (!fs::is_directory(path, failed)) {
    out.push_back(read_kineto(path, classes));
    return out;
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (is_recording_file(entry->path())) files.push_back(entry->path());
  }
  if (failed) fail_input({path.string(), 0, 0}, "cannot be read: " + failed.message());
  if (files.empty()) {
    fail_input({path.string(), 0, 0}, "the folder holds no recording", "expected files *.json or *.json.gz");
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) out.push_back(read_kineto(file, classes));
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
