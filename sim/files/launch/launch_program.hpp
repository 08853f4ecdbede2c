#pragma once

#include "launch/launch_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// An option of a command line with the words after it.
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
  bool has(std::string_view name) const {
    return std::any_of(all_.begin(), all_.end(), [&](const LaunchOption& option) { return option.name == name; });
  }
  // Sorts the options by the places that `place` returns; equal places keep their order.
  template <typename Place>
  void sort_by(const Place& place) {
    std::stable_sort(all_.begin(), all_.end(),
                     [&](const LaunchOption& a, const LaunchOption& b) { return place(a.name) < place(b.name); });
  }
  const std::vector<LaunchOption>& all() const { return all_; }

 private:
  std::vector<LaunchOption> all_;
};

// A program to start, with all its needs.
struct LaunchProgram {
  std::vector<std::string> start;  // words after python: {"pretrain_gpt.py"}, {"-m", "torchtitan.train"}
  std::vector<std::string> comments;
  LaunchOptions options;
  std::vector<LaunchFile> files;                                 // files that the options name
  std::vector<std::pair<std::string, std::string>> environment;  // variables that the program needs
  std::vector<std::string> unset = {};                           // variables with which the program does not run
  std::string accelerated = {};     // the configuration with which accelerate starts the program; "": torchrun does
  bool configured_by_file = false;  // the first file holds all settings, and the options only name it
};

// Quotes a word for a shell if it holds more than letters, digits and a few signs.
std::string shell_word(const std::string& word);
// Returns "name word word", for a shell.
std::string shell_text(const LaunchOption& option);
// Returns options as text, one per line, each after `indent`.
std::string shell_lines(const LaunchOptions& options, std::string_view indent = "");
// Returns settings as YAML: names before a dot are sections, which follow the settings without one. Words that YAML 1.1
// takes for truths are quoted.
std::string yaml_text(const LaunchOptions& settings);
// Returns comments as lines.
std::string comment_lines(const std::vector<std::string>& comments);

}  // namespace mirfak
