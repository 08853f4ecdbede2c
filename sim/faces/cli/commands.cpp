#include "cli/commands.hpp"

#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/read_files.hpp"
#include "base/text.hpp"
#include "report/memory_remedies.hpp"
#include "report/memory_shortage.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace mirfak {

namespace {

constexpr std::array kCommands = {
    Command{"import", "a launch script or configuration of a training program, made into a scenario", run_import},
    Command{"simulate", "time, cost, memory and energy of one training iteration", run_simulate},
    Command{"search", "the best strategies to train a model on a cluster", run_search},
    Command{"frontier", "the least energy of an iteration for every time it may take", run_frontier},
    Command{"train", "a whole training: failures, checkpoints, when it ends, what it costs and emits", run_train},
    Command{"compare", "one job on several clusters and clouds: days, money, energy, or how many GPUs a date needs",
            run_compare},
    Command{"diff", "where the seconds of two scenarios differ", run_diff},
    Command{"sweep", "every point of a scenario with axes, as one table", run_sweep_command},
    Command{"validate", "how far predictions are from tables of measured runs", run_validate},
    Command{"calibrate", "fits the constants of kernels and links to measured tables", run_calibrate},
    Command{"replay", "recorded steps of a real training, executed again: what stragglers cost", run_replay},
    Command{"block", "what follows from the text of a block: shapes, backward, memory, FLOPs", run_block},
    Command{"shard", "annotations of a few tensors completed to all: shardings, collectives, memory", run_shard},
    Command{"list", "the models, hardware, prices and schedules that scenarios may name", run_list},
    Command{"schedule", "the order of passes of a pipeline schedule, drawn, checked, and as PyTorch's CSV",
            run_schedule},
    Command{"topology", "the graph of a network, drawn, with its bisection, diameter and bandwidths", run_topology},
    Command{"init", "a file of your own from a template: scenario, search, sweep, GPU, node", run_init},
    Command{"schema", "the JSON Schema of a kind of file, for editors", run_schema},
    Command{"serve", "a page of this machine where every change of a scenario is simulated at once", run_serve},
    Command{"doctor", "what is installed and works", run_doctor},
    Command{"completion", "a script that completes commands and options in bash, zsh or fish", run_completion},
    Command{"man", "the manual page of the program or of a command", run_man},
    Command{"bench", "fixed scenarios: one hash of all that happened, and events per second", run_bench},
};

std::string help() {
  std::string out =
      "usage: mirfak COMMAND [ARGUMENT]...\n\n"
      "Predicts how long a distributed training job takes, what it costs, and what memory and energy it needs.\n\n";
  for (const Command& command : kCommands) out += fmt::format("  {:<11}{}\n", command.name, command.sentence);
  return out +
         "\nmirfak COMMAND --help says what a command takes; mirfak --version says which mirfak this is.\n"
         "Exit status: 0 success, 1 internal failure, 2 input that cannot be understood, 3 a job that cannot run,\n"
         "4 an assertion of the scenario that does not hold, 130 ended by Ctrl-C.\n";
}

CommandOutput refuse(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  fail_input({}, fmt::format("unknown command '{}'", excerpt(name)),
             did_you_mean(name, names, "expected " + join_or(names)));
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

void complain_of_memory(const Job& job, const IterationResult& result, CommandOutput& output) {
  if (result.fits) return;
  output.complaint = fmt::format("out of memory: {}\n  {}", memory_shortage_text(result), memory_remedies(job, result));
  output.status = kStatusInfeasible;
}

void complain_of_assertions(const AssertionResult& asserted, CommandOutput& output) {
  if (asserted.broken.empty()) return;
  output.complaint += (output.complaint.empty() ? "" : "\n") + broken_text(asserted);
  output.status = kStatusBroken;
}

CommandOutput run_command_line(std::span<const std::string> arguments, const Surroundings& surroundings) {
  if (arguments.empty()) return {{}, "no command\n\n" + help(), kStatusInput};
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h") return {help(), {}};
  if (name == "--version") return {fmt::format("mirfak {}\n", program_version()), {}};
  const ReadFiles reading;
  const NotedDataFolders noting;
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(arguments.subspan(1), surroundings);
  }
  return refuse(name);
}

}  // namespace mirfak
