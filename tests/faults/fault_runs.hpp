#pragma once

#include "program.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mirfak::test {

using Files = std::map<std::string, std::string>;  // contents by path below a folder

// A command that writes files, in a folder of its own.
struct WritingJob {
  std::vector<std::string> words;
  Files before;                        // its inputs, and what its outputs replace
  std::vector<std::string> outputs;    // that it makes
  std::vector<std::string> more = {};  // options with which it goes on after a fault
  std::string journal = {};            // the file from which it goes on
};

enum class Fault { no_space, device, kill };

// One call by which the program changes a file, as the library of failing calls saw it.
struct FileCall {
  std::string name;  // "open", "write", "fsync", "truncate", "close", "rename", "link", "remove", "mkdir"
  std::string file;  // its path below the folder
};

struct FaultyRun {
  std::unique_ptr<ScratchFolder> folder;
  Finished finished;
  std::vector<FileCall> calls;  // up to the one that failed; fewer than n: it met no fault
  Files after;
};

// The files that the command leaves without any fault.
Files undisturbed(const WritingJob& job);

// The command with its n-th such call failing, from 1.
FaultyRun run_with_fault(const WritingJob& job, Fault fault, long n);

struct Resumption {
  Finished finished;
  Files after;
};

// The command once more, without a fault, on what that left.
Resumption resume(const WritingJob& job, const FaultyRun& faulty);

}  // namespace mirfak::test
