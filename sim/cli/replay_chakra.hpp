#pragma once

#include "cli/commands.hpp"
#include "cli/options.hpp"

#include <span>
#include <string>

namespace mirfak {

// What `mirfak replay` takes with Chakra traces.
struct ChakraReplayOptions {
  std::string nodes;  // TYPE:COUNT, or empty
  std::string data;
  std::string timeline;  // a path, or empty
  OutputFormat format = OutputFormat::text;
};

// By the names of files: NAME.<rank>.et, .et.gz, .json or .json.gz.
bool are_chakra_traces(std::span<const std::string> files);
// The traces of some ranks, executed.
CommandOutput replay_chakra(std::span<const std::string> files, const ChakraReplayOptions& options,
                            const Surroundings& surroundings);

}  // namespace mirfak
