#pragma once

#include <filesystem>

namespace mirfak {

// The name of a file that nobody may find unfinished: while an UnfinishedFile lives, its file is removed if a signal
// ends the process and remove_unfinished_files_at_signals() was called. Thread-safe.
class UnfinishedFile {
 public:
  // `target`: the name that the complete file takes, as messages show it.
  UnfinishedFile(std::filesystem::path path, std::filesystem::path target);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path target_;
};

// Returns the target of the unfinished file at this path; the path itself if no such file is known.
std::filesystem::path target_of_unfinished(const std::filesystem::path& path);

// While a SignalPause lives, no signal removes unfinished files or ends the process through
// remove_unfinished_files_at_signals(); a signal waits until the pause ends. For a few system calls that belong
// together.
class SignalPause {
 public:
  SignalPause();
  ~SignalPause();
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
};

// From the call on, the signals that end a program from outside (Ctrl-C, SIGTERM, SIGHUP, the limit on CPU time, ...)
// first remove all unfinished files, and then end the process as always. Signals that the process ignored from its
// start (nohup) stay ignored. For a program of its own, not for a library in another program's process.
void remove_unfinished_files_at_signals();

// Called in a handler of `signal`: removes all unfinished files, and makes the signal end the process when the handler
// returns.
void end_by_signal(int signal);

}  // namespace mirfak
