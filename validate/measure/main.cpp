// mirfak-measure: the only place of it that prints and exits. Rank 0 speaks for all; a rank that alone finds a fault
// says so itself and ends the job, because the others wait for it.

#include "base/error.hpp"
#include "base/interrupt_watch.hpp"
#include "base/origin.hpp"
#include "base/text.hpp"
#include "measure/commands.hpp"
#include "measure/start_world.hpp"
#include "processes/machine.hpp"
#include "processes/processor_time.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace mirfak::measure {

namespace {

struct Command {
  const char* name;
  const char* sentence;
  std::string (*run)(std::span<const std::string> arguments, World& world);
};

constexpr std::array kCommands = {
    Command{"run", "executes the program of a scenario and writes its trace", run_scenario},
    Command{"kernels", "times matrix products and kernels that are bound by memory", measure_kernels},
    Command{"collectives", "times collectives and sends over sizes and groups", measure_collectives},
    Command{"energy", "reads what a GPU draws for each class of kernels", measure_energy},
    Command{"power", "compares readings of a GPU's power with the predicted power over time", compare_readings},
};

std::string help() {
  std::string out =
      "usage: mpirun -n RANKS mirfak-measure COMMAND [ARGUMENT]...\n"
      "       torchrun --no-python --nproc-per-node GPUS mirfak-measure COMMAND --backend cuda [ARGUMENT]...\n"
      "       srun --ntasks-per-node GPUS mirfak-measure COMMAND --backend cuda [ARGUMENT]...\n\n"
      "Measures what mirfak predicts: executes the very program that mirfak simulates, and the kernels and\n"
      "collectives that it is made of.\n\n";
  for (const Command& command : kCommands) out += fmt::format("  {:<13}{}\n", command.name, command.sentence);
  return out +
         "\nmirfak-measure COMMAND --help says what a command takes.\n"
         "Exit status: 0 success, 1 internal failure, 2 input that cannot be understood, 3 a job that cannot run,\n"
         "128 + N ended by signal N.\n";
}

std::string run_command_line(const std::vector<std::string>& arguments, World& world) {
  if (arguments.empty()) fail_input({}, "no command\n\n" + help());
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h") return help();
  if (name == "--version") return fmt::format("mirfak-measure {}\n", program_version());
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(std::span(arguments).subspan(1), world);
    names.emplace_back(command.name);
  }
  const std::string close = nearest(name, names);
  fail_input({}, fmt::format("unknown command '{}'", excerpt(name)),
             close.empty() ? "expected " + join_or(names) : fmt::format("did you mean '{}'?", close));
}

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return 2;
    case ErrorKind::infeasible:
      return 3;
    case ErrorKind::internal:
      break;
  }
  return 1;
}

constexpr double kAgreement = 10;      // seconds that a rank waits for the others to find a fault too
constexpr double kInterruption = 0.5;  // ... for a signal to have come to them: launchers give no second more
constexpr int kStatusOfSignals = 128;  // as shells have it

void say(const std::string& message) {
  std::fprintf(stderr, "mirfak-measure: error: %s\n", message.c_str());
  std::fflush(stderr);
}

// The job ends while this process is at something else, or has not begun.
void end_at_once(const std::string& why, int status) {
  if (!why.empty()) say(why);
  std::_Exit(status);
}

// Faults of the arguments and files are found by all ranks alike: rank 0 says so, and all end. Any other fault is one
// rank's: it says so itself, and ends the job.
int complain(const World& world, const std::string& message, int status) {
  const bool signalled = status > kStatusOfSignals;
  const bool of_all =
      (status == 2 || status == 3 || signalled) && world.all_stop(signalled ? kInterruption : kAgreement);
  if (!of_all || world.rank() == 0) say(message);
  if (of_all || world.size() == 1) return status;
  world.abort(status);
}

int run_in(World& world, const std::vector<std::string>& arguments) {
  try {
    const std::string text = run_command_line(arguments, world);
    if (world.rank() != 0) return 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? 0 : complain(world, "cannot write to standard output", 1);
  } catch (const Error& error) {
    const int signal = InterruptWatch::signal();
    return complain(world, error.what(), signal != 0 ? kStatusOfSignals + signal : status_of(error.kind()));
  } catch (const std::exception& error) {
    return complain(world, fmt::format("rank {}: unexpected failure: {}", world.rank(), error.what()), 1);
  }
}

int run(int count, char** words) {
  stolen_share_of_process();  // counts from here
  const InterruptWatch watch;
  try {
    const std::unique_ptr<World> world = start_world(count, words, end_at_once);
    return run_in(*world, {words + (count > 0 ? 1 : 0), words + count});
  } catch (const Error& error) {  // there is no world: every process says so
    say(error.what());
    return status_of(error.kind());
  }
}

}  // namespace

}  // namespace mirfak::measure

int main(int count, char** words) { return mirfak::measure::run(count, words); }
