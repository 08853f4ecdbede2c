#pragma once

#include "scenario/assertions.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Exit statuses, as documented for users (README.md of this folder).
inline constexpr int kStatusInternal = 1;
inline constexpr int kStatusInput = 2;
inline constexpr int kStatusInfeasible = 3;
inline constexpr int kStatusBroken = 4;         // an assertion of the scenario does not hold
inline constexpr int kStatusInterrupted = 130;  // the status that shells report for a program ended by Ctrl-C

// Output of a command, which main() prints, and its exit status. main() prints none of the output if the command
// throws.
struct CommandOutput {
  std::string text;       // to standard output
  std::string complaint;  // to standard error; empty: none
  int status = 0;
  std::string remarks = {};  // to standard error, if the text is also for programs; empty: none
  bool confirms = false;     // true: the text says which files were written
};

// Properties of the process that a command may use.
struct Surroundings {
  std::chrono::steady_clock::time_point started;
  int columns = 0;      // width of the terminal on standard output; 0: standard output is no terminal
  bool colour = false;  // the terminal on standard output takes colours, and the user has not turned colours off
  // Writes to standard error while a command works; empty if standard error is no terminal.
  std::function<void(std::string_view)> progress;
  int progress_columns = 80;  // width of the terminal on standard error
  // Asks the user and waits for a line; empty if standard input or standard error is no terminal.
  std::function<std::string(std::string_view)> ask = {};
  // Prints to standard output at once, for a command that runs until it is ended.
  std::function<void(std::string_view)> say = {};

  double seconds_so_far() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
};

// A command of the program. `run` takes the arguments after the command's name. Throws Error; Error(input) for
// arguments that the command does not take.
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
CommandOutput run_trace(std::span<const std::string> arguments, const Surroundings& surroundings);
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

// Sets the complaint and the status if the job needs more memory than its GPUs have. The complaint lists changes that
// would help. Does nothing if the job fits.
void complain_of_memory(const Job& job, const IterationResult& result, CommandOutput& output);

// Adds the assertions that do not hold to the complaint, and sets the status. Does nothing if all assertions hold.
void complain_of_assertions(const AssertionResult& asserted, CommandOutput& output);

// Removes notes on perturbations: one iteration ignores the values that are drawn for many.
void leave_out_notes_on_perturbations(std::vector<std::string>& notes);

// Returns all commands, in the order in which help lists them.
std::span<const Command> commands();

// Runs a whole command line without the program's name: "--help", "--version", or a command with its arguments.
CommandOutput run_command_line(std::span<const std::string> arguments, const Surroundings& surroundings);

}  // namespace mirfak
