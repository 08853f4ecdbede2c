#pragma once

#include "chakra/chakra_program.hpp"
#include "engine/timeline.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Division of one rank's time: each time is the length of a union of intervals.
struct ChakraRankTimes {
  std::int64_t rank = 0;
  std::size_t nodes = 0;
  double end_s = 0;            // end of its last node
  double compute_s = 0;        // kernels
  double communication_s = 0;  // collectives and messages
  double exposed_s = 0;        // communication while no kernel runs
  double host_s = 0;           // the host's work
  double idle_s = 0;           // neither kernels nor communication, until the last rank's end
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
