#include "fault_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

namespace mirfak::test {

namespace fs = std::filesystem;

namespace {

std::string word_of(Fault fault) {
  return fault == Fault::kill ? "kill" : std::to_string(fault == Fault::no_space ? ENOSPC : EIO);
}

void write_all(const ScratchFolder& folder, const Files& files) {
  for (const auto& [name, text] : files) {
    fs::create_directories((folder.path() / name).parent_path());
    folder.write(name, text);
  }
}

// Links are not followed: those of ScratchFolder lead to the source tree.
Files files_in(const fs::path& folder) {
  Files out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) out[entry.path().lexically_relative(folder).string()] = read_text(entry.path());
  }
  return out;
}

std::vector<FileCall> calls_in(const fs::path& log, const fs::path& folder) {
  std::vector<FileCall> out;
  if (!fs::exists(log)) return out;
  std::istringstream lines(read_text(log));
  for (FileCall call; lines >> call.name && std::getline(lines >> std::ws, call.file);) {
    call.file = fs::path(call.file).lexically_relative(folder).string();
    out.push_back(call);
  }
  return out;
}

}  // namespace

Files undisturbed(const WritingJob& job) {
  const ScratchFolder folder;
  write_all(folder, job.before);
  const Finished finished = run({job.words, folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return files_in(folder.path());
}

FaultyRun run_with_fault(const WritingJob& job, Fault fault, long n) {
  FaultyRun out;
  out.folder = std::make_unique<ScratchFolder>();
  write_all(*out.folder, job.before);
  const ScratchFolder beside;
  const fs::path log = beside.path() / "calls";
  const fs::path place = fs::canonical(out.folder->path());
  const std::string library = MIRFAK_PRELOAD;
  const std::vector<std::string> environment = {"LD_PRELOAD=" + library, "MIRFAK_FAULT_FOLDER=" + place.string(),
                                                fmt::format("MIRFAK_FAULT_AT={}", n), "MIRFAK_FAULT=" + word_of(fault),
                                                "MIRFAK_FAULT_LOG=" + log.string()};
  out.finished = run({job.words, place, environment});
  out.calls = calls_in(log, place);
  out.after = files_in(place);
  return out;
}

Resumption resume(const WritingJob& job, const FaultyRun& faulty) {
  std::vector<std::string> words = job.words;
  words.insert(words.end(), job.more.begin(), job.more.end());
  Resumption out;
  out.finished = run({words, faulty.folder->path()});
  out.after = files_in(faulty.folder->path());
  return out;
}

}  // namespace mirfak::test
