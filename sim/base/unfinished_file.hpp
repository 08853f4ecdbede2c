#pragma once

#include <filesystem>

namespace mirfak {

// The name of a file that nobody may find unfinished: while one lives, the file is removed where a signal ends the
// process, as remove_unfinished_files_at_signals() has asked. Thread-safe.
class UnfinishedFile {
 public:
  // `target`: the name that the file takes when it is complete, as messages have it.
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

// The target of the unfinished file at this path; the path itself where no such file is known.
std::filesystem::path target_of_unfinished(const std::filesystem::path& path);

// While one lives, no signal removes unfinished files or ends the process by remove_unfinished_files_at_signals(): for
// a few system calls that belong together. Such a signal waits.
class SignalPause {
 public:
  SignalPause();
  ~SignalPause();
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
};

// From now on the signals that others send to end a program (Ctrl-C, SIGTERM, SIGHUP, the limit on CPU time, ...)
// remove all unfinished files first, and then end the process as they always do. Those that the process was started
// with orders to ignore (nohup) stay ignored. For a program of its own, not for a library in a process of others.
void remove_unfinished_files_at_signals();

// Called in a handler of `signal`: removes all unfinished files, and has the signal end the process when the handler
// returns.
void end_by_signal(int signal);

}  // namespace mirfak
