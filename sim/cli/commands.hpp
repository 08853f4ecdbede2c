#pragma once

#include "scenario/assertions.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// Exit statuses, as documented for users (README.md of this folder).
inline constexpr int kStatusInternal = 1;
inline constexpr int kStatusInput = 2;
inline constexpr int kStatusInfeasible = 3;
inline constexpr int kStatusBroken = 4;         // an assertion of the scenario does not hold
inline constexpr int kStatusInterrupted = 130;  // as shells say of a program that Ctrl-C ended

// What a command leaves for main() to print and return: all of it or, when the command throws, nothing.
struct CommandOutput {
  std::string text;       // to standard output
  std::string complaint;  // to standard error; empty: none
  int status = 0;
};

// What a command may know of the process it runs in.
struct Surroundings {
  std::chrono::steady_clock::time_point started;
  int columns = 0;      // width of the terminal that standard output is; 0: it is none
  bool colour = false;  // it takes colours, and the user has nothing against them
  // Writes to standard error while a command works; empty where that is no terminal.
  std::function<void(std::string_view)> progress;
  int progress_columns = 80;  // of that terminal
  // Asks the user and waits for a line; empty where input or that terminal is none.
  std::function<std::string(std::string_view)> ask = {};
  // Prints at once, of a command that goes on until it is ended.
  std::function<void(std::string_view)> say = {};

  double seconds_so_far() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
};

// A command: arguments (those after its name) in, output out. Throws Error; Error(input) for arguments that it
// does not take.
struct Command {
  std::string_view name;
  std::string_view sentence;  // for the list of commands
  CommandOutput (*run)(std::span<const std::string> arguments, const Surroundings& surroundings);
};

CommandOutput run_simulate(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_compare(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_diff(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_search(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_frontier(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_sweep_command(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_train(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_validate(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_calibrate(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_replay(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_block(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_shard(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_list(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_schedule(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_import(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_topology(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_init(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_schema(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_serve(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_doctor(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_completion(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_man(std::span<const std::string> arguments, const Surroundings& surroundings);
CommandOutput run_bench(std::span<const std::string> arguments, const Surroundings& surroundings);

// Says that the job needs more memory than its GPUs have, and what would help; nothing where it fits.
void complain_of_memory(const Job& job, const IterationResult& result, CommandOutput& output);

// Adds what does not hold to the complaint, and sets the status; nothing where all hold.
void complain_of_assertions(const AssertionResult& asserted, CommandOutput& output);

// All of them, in the order in which help lists them.
std::span<const Command> commands();

// The whole command line, the program's name left out: "--help", "--version", or a command with its arguments.
CommandOutput run_command_line(std::span<const std::string> arguments, const Surroundings& surroundings);

}  // namespace mirfak
