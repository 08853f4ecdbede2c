#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak::test {

// The place to which the standard output of a program goes.
enum class Output {
  captured,
  full_device,    // every write fails
  closed,         // there is none
  closed_reader,  // a pipe that nobody reads
};

struct Invocation {
  std::vector<std::string> arguments;         // those after the program's name
  std::filesystem::path folder;               // to run in; empty: the source tree
  std::vector<std::string> environment = {};  // "NAME=value", added to ours
  Output output = Output::captured;
};

struct Finished {
  int status = -1;  // exit status
  int signal = 0;   // that ended it; 0: none
  std::string out;
  std::string err;
};

// The mirfak that this test was built with.
const std::filesystem::path& program();

// Runs the mirfak that this test was built with, to its end.
Finished run(const Invocation& invocation);
Finished run(std::vector<std::string> arguments);

// Runs a line of shell, with `mirfak` on its path.
Finished run_shell(const std::string& line, const std::filesystem::path& folder);

// A folder that exists as long as this does, with links to the folders of the source tree that commands name.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;
  std::vector<std::string> names() const;  // of what is in it, sorted, the links left out

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& path);

}  // namespace mirfak::test
