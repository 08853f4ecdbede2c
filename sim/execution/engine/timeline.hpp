#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Start and end of each task of an executed program, in the program's order.
struct Timeline {
  std::vector<Picoseconds> start;
  std::vector<Picoseconds> end;
  Picoseconds makespan = 0;  // the latest end
  std::uint64_t events = 0;  // task ends and, on shared links, changes of speed that the engine handled

  // Returns the FNV-1a hash of the event stream (time, task) ordered by (end, task): one number that identifies
  // behaviour.
  std::uint64_t hash() const;
};

}  // namespace mirfak
