// Whole processes: what a person waits for at the command line. Runs `mirfak simulate` on the 1,536-GPU scenario, as
// a child process with its output thrown away, and prints median wall time and peak memory as the operating system
// accounts them.
//   mirfak_bench_process [--smoke]

#include "support/source_root.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX declares it in no header

namespace {

struct Run {
  double wall_s = 0;
  double peak_mib = 0;
};

// Throws std::runtime_error unless the command can be started and ends with status 0.
Run run_once(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + command[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (status != 0) throw std::runtime_error(fmt::format("{} ended with status {}", command[0], status));
  return {wall.count(), static_cast<double>(usage.ru_maxrss) / 1024};
}

Run median_of(int runs, const std::vector<std::string>& command) {
  std::vector<double> wall;
  double peak = 0;
  for (int i = 0; i < runs; ++i) {
    const Run run = run_once(command);
    wall.push_back(run.wall_s);
    peak = std::max(peak, run.peak_mib);
  }
  std::nth_element(wall.begin(), wall.begin() + runs / 2, wall.end());
  return {wall[static_cast<std::size_t>(runs / 2)], peak};
}

struct Row {
  const char* what;
  std::vector<std::string> options;
  const char* goal;
};

}  // namespace

int main(int count, char** words) {
  const bool smoke = count > 1 && std::string(words[1]) == "--smoke";
  const std::string scenario = mirfak::source_root() + "/scenarios/gpt3-175b-a100.yaml";
  const Row rows[] = {
      {"folded: 12 ranks", {}, "30 ms"},
      {"folded, every kernel a task", {"--detail", "operators"}, ""},
      {"unfolded: 1,536 ranks", {"--unfolded"}, "2 s, 1 GiB"},
  };
  try {
    fmt::print("mirfak simulate {}\n{:<32}{:>14}{:>16}   {}\n", "scenarios/gpt3-175b-a100.yaml", "", "wall, median",
               "memory, peak", "goal");
    for (const Row& row : rows) {
      std::vector<std::string> command = {MIRFAK_PROGRAM, "simulate", scenario};
      command.insert(command.end(), row.options.begin(), row.options.end());
      const Run run = median_of(smoke ? 1 : 11, command);
      fmt::print("{:<32}{:>11.1f} ms{:>12.1f} MiB   {}\n", row.what, run.wall_s * 1e3, run.peak_mib, row.goal);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "mirfak_bench_process: {}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
