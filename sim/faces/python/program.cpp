#include "cli/program.hpp"

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "python/functions.hpp"
#include "python/waiting.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// Returns what a command prints. What it would complain of is thrown.
std::string printed_by(const std::vector<std::string>& arguments) {
  const CommandOutput output = run_command_line(arguments, {});
  if (!output.complaint.empty()) fail_infeasible({}, output.complaint);
  return output.text;
}

int status_of_program(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const nb::gil_scoped_release released;
  return run_program(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

void add_program(nb::module_& module) {
  module.def(
      "command",
      [](const std::vector<std::string>& arguments) {
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return printed_by(arguments); });
      },
      "arguments"_a, nb::sig("def command(arguments: collections.abc.Sequence[str]) -> str"),
      "Runs a command of the program and returns what it prints; raises as the functions of mirfak do.");
  module.def(
      "serve",
      [](const std::vector<std::string>& arguments, const nb::callable& say) {
        Surroundings surroundings;
        surroundings.say = [&](std::string_view text) {
          const nb::gil_scoped_acquire held;
          say(nb::str(text.data(), text.size()));
        };
        wait_for(nb::none(), [&](Reporter& /*unused*/) { return run_serve(arguments, surroundings).status; });
      },
      "arguments"_a, "say"_a,
      nb::sig("def serve(arguments: collections.abc.Sequence[str], say: collections.abc.Callable[[str], object]) -> "
              "None"),
      "Serves the page until Ctrl-C; `say` is called with its address.");
  module.def("run_program", status_of_program, "words"_a,
             nb::sig("def run_program(words: collections.abc.Sequence[str]) -> int"),
             "The program itself: prints, and returns its exit status. For a process of its own.");
}

}  // namespace mirfak::python
