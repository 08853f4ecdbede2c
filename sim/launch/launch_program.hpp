#pragma once

#include "launch/launch_arguments.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// An option of a command line with the words behind it.
struct LaunchOption {
  std::string name;
  std::vector<std::string> words;
  bool joined = false;  // "name=word", as overrides of Hydra are written
};

// Options in the order in which they are added.
class LaunchOptions {
 public:
  void flag(std::string_view name) { all_.push_back({std::string(name), {}}); }
  template <typename T>
  void value(std::string_view name, const T& value) {
    all_.push_back({std::string(name), {fmt::format("{}", value)}});
  }
  void words(std::string_view name, std::vector<std::string> words) {
    all_.push_back({std::string(name), std::move(words)});
  }
  template <typename T>
  void override_of(std::string_view name, const T& value) {
    all_.push_back({std::string(name), {fmt::format("{}", value)}, true});
  }
  void add(LaunchOption option) { all_.push_back(std::move(option)); }
  const std::vector<LaunchOption>& all() const { return all_; }

 private:
  std::vector<LaunchOption> all_;
};

// What is started, with all that it needs.
struct LaunchProgram {
  std::vector<std::string> start;  // behind python: {"pretrain_gpt.py"}, {"-m", "torchtitan.train"}
  std::vector<std::string> comments;
  LaunchOptions options;
  std::vector<LaunchFile> files;                                 // that the options name
  std::vector<std::pair<std::string, std::string>> environment;  // variables that it needs
  bool configured_by_file = false;  // the first file says all, and the options only name it
};

// A word as a shell takes it: in quotes where it holds more than letters, digits and a few signs.
std::string shell_word(const std::string& word);
// "name word word", for a shell.
std::string shell_text(const LaunchOption& option);
// Options as text, one a line, behind `indent`.
std::string shell_lines(const LaunchOptions& options, std::string_view indent = "");
// Comments as lines.
std::string comment_lines(const std::vector<std::string>& comments);

}  // namespace mirfak
