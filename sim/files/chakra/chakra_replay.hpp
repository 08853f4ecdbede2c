#pragma once

#include "chakra/chakra_price.hpp"
#include "chakra/chakra_times.hpp"

#include <optional>
#include <span>
#include <string>

namespace mirfak {

// Chakra traces of some ranks of one run, executed.
struct ChakraReplay {
  ChakraProgram joined;
  Timeline timeline;
  ChakraTimes times;
};

// True if any file is a Chakra trace by its name: NAME.<rank>.et, .et.gz, .json or .json.gz.
bool are_chakra_traces(std::span<const std::string> files);

// Reads the traces, in any order, and executes them. `cluster` prices communication that has no recorded duration.
// Error(input) for a file that is not a trace by its name, and as of read_chakra_trace() and chakra_program().
ChakraReplay replay_chakra(std::span<const std::string> files, const std::optional<Cluster>& cluster);

}  // namespace mirfak
