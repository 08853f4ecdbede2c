#pragma once

#include "replay/replay.hpp"

#include <string>

namespace mirfak::test {

// A trace of one step: two stages with two chunks of the model each, one microbatch, so that everything happens one
// after the other: forward passes of 1 s, backward passes of 2 s, transfers of 0.25 s, 13.5 s in all. Receives begin
// 0.1 s behind the pass before, at 0 where there is none. `data_ranks` do the same; of the last of them the pass
// forward through the second part takes `late_s` longer, and all behind it comes so much later.
std::string small_trace(int data_ranks = 1, double late_s = 0);

// The same as a table, and replayed with the graph that follows from it.
CsvTable small_table(int data_ranks = 1, double late_s = 0);
Replay small_replay(int data_ranks = 1, double late_s = 0);

}  // namespace mirfak::test
