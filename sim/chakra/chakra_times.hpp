#pragma once

#include "chakra/chakra_program.hpp"
#include "engine/timeline.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Where the time of one rank goes: lengths of unions of intervals.
struct ChakraRankTimes {
  std::int64_t rank = 0;
  std::size_t nodes = 0;
  double end_s = 0;            // of its last node
  double compute_s = 0;        // kernels
  double communication_s = 0;  // collectives and messages
  double exposed_s = 0;        // of that, while no kernel runs
  double host_s = 0;           // the host's work
  double idle_s = 0;           // until the last rank's end: neither kernels nor communication
};

// Tasks of one name on the critical path.
struct ChakraPathPart {
  std::string name;
  std::string_view kind;  // "compute", "collective", ...
  std::size_t nodes = 0;
  double seconds = 0;
};

struct ChakraTimes {
  double iteration_s = 0;
  std::vector<ChakraRankTimes> ranks;
  std::vector<ChakraPathPart> critical_path;  // most seconds first; they add up to the iteration
};

ChakraTimes chakra_times(std::span<const ChakraTrace> traces, const ChakraProgram& joined, const Timeline& timeline);

}  // namespace mirfak
