#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <vector>

namespace mirfak {

// The max-plus sweep. Both functions need a program that keeps its invariants, and ignore demands on links: they are
// valid where program.shares_links() is false.

// Returns the whole timeline, bit for bit that of execute_events().
Timeline execute_sweep(const Program& program);

// Executes programs for a search, which needs only the makespan and the end of every task.
class Sweep {
 public:
  Picoseconds makespan(const Program& program);

  // Ends of the tasks of the last program, in its order; valid until the next call of makespan().
  const std::vector<Picoseconds>& ends() const { return ends_; }

 private:
  std::vector<Picoseconds> ends_;
  std::vector<Picoseconds> stream_end_;
};

}  // namespace mirfak
