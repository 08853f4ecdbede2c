#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// What ran when: one entry per task of the program that was executed, in the program's order.
struct Timeline {
  std::vector<Picoseconds> start;
  std::vector<Picoseconds> end;
  Picoseconds makespan = 0;  // the latest end
  std::uint64_t events = 0;  // task ends and, on shared links, changes of rate that the engine handled

  // FNV-1a over the event stream (time, task) ordered by (end, task): one number that identifies behaviour.
  std::uint64_t hash() const;
};

}  // namespace mirfak
