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
    Command{"import", "make a scenario of a launch script or a configuration of a training program", run_import},
    Command{"simulate", "predict time, cost, memory and energy of one training iteration", run_simulate},
    Command{"search", "find the best strategies to train a model on a cluster", run_search},
    Command{"frontier", "plan GPU clocks: the least energy of an iteration for every time that it may take",
            run_frontier},
    Command{"train", "simulate a whole training with failures and checkpoints: when it ends, what it costs and emits",
            run_train},
    Command{"compare", "compare one job on several clusters and clouds, or find how many GPUs a date needs",
            run_compare},
    Command{"diff", "show where the seconds of two scenarios differ", run_diff},
    Command{"sweep", "simulate every point of a scenario with axes, as one table", run_sweep_command},
    Command{"validate", "score predictions against tables of measured runs", run_validate},
    Command{"calibrate", "fit the constants of kernels and links to measured tables", run_calibrate},
    Command{"trace", "show what a profiler recorded of a training: kernels, communication, steps, the host", run_trace},
    Command{"replay", "execute recorded steps of a real training again: what its stragglers cost", run_replay},
    Command{"block", "show what follows from the text of a block: shapes, backward, memory, FLOPs", run_block},
    Command{"shard", "complete annotations of a few tensors to all: shardings, collectives, memory", run_shard},
    Command{"list", "list the models, hardware, prices and schedules that scenarios may name", run_list},
    Command{"schedule", "draw and check the order of passes of a pipeline schedule, or write it as PyTorch's CSV",
            run_schedule},
    Command{"topology", "draw the graph of a network, with its bisection, diameter and bandwidths", run_topology},
    Command{"init", "start a file of your own from a template: scenario, search, sweep, GPU, node", run_init},
    Command{"schema", "print the JSON Schema of a kind of file, for editors", run_schema},
    Command{"serve", "serve a page on this machine that simulates every change of a scenario at once", run_serve},
    Command{"doctor", "check what is installed and works", run_doctor},
    Command{"completion", "print a script that completes commands and options in bash, zsh or fish", run_completion},
    Command{"man", "print the manual page of the program or of a command", run_man},
    Command{"bench", "simulate fixed scenarios: one hash of all events, and events per second", run_bench},
};

std::string help() {
  std::string out =
      "usage: mirfak COMMAND [ARGUMENT]...\n\n"
      "Predicts how long a distributed training job takes, what it costs, and what memory and energy it needs.\n\n";
  for (const Command& command : kCommands) out += fmt::format("  {:<11}{}\n", command.name, command.sentence);
  return out +
         "\nmirfak help COMMAND prints the options of a command; mirfak version prints the version of mirfak. A file - "
         "is\n"
         "standard input.\n"
         "Exit status: 0 success, 1 internal failure, 2 input that cannot be understood, 3 a job that cannot run,\n"
         "4 an assertion of the scenario that does not hold, 130 ended by Ctrl-C.\n";
}

CommandOutput refuse(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  fail_input({}, fmt::format("unknown command '{}'", excerpt(name)),
             did_you_mean(name, names, "expected " + join_or(names)));
}

// Returns the help of a command, `help COMMAND`.
CommandOutput help_of(std::span<const std::string> words, const Surroundings& surroundings) {
  if (words.size() > 1)
    fail_input({}, fmt::format("unexpected argument '{}'", excerpt(words[1])), "usage: mirfak help [COMMAND]");
  const std::vector<std::string> asks = {"--help"};
  for (const Command& command : kCommands) {
    if (command.name == words.front()) return command.run(asks, surroundings);
  }
  return refuse(words.front());
}

}  // namespace

void leave_out_notes_on_perturbations(std::vector<std::string>& notes) {
  std::erase_if(notes, [](const std::string& note) {
    return note.find("cluster.perturbations") != std::string::npos ||
           note.starts_with("training.images: a single iteration");
  });
}

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
  const bool asks = name == "help" && arguments.size() > 1;
  if (name == "--help" || name == "-h" || (name == "help" && !asks)) return {help(), {}};
  if (asks) return help_of(arguments.subspan(1), surroundings);
  if (name == "--version" || name == "-v" || name == "version")
    return {fmt::format("mirfak {}\n", program_version()), {}};
  const ReadFiles reading;
  const NotedDataFolders noting;
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(arguments.subspan(1), surroundings);
  }
  return refuse(name);
}

}  // namespace mirfak
