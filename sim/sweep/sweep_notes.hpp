#pragma once

#include "scenario/data_folders.hpp"
#include "scenario/sweep_file.hpp"
#include "sweep/sweep_table.hpp"

#include <array>
#include <string>
#include <vector>

namespace mirfak {

// "strategy.microbatch_group: its 3 values give the same figures everywhere": an axis along which no point that runs
// has another figure or another fate. Only for the table of a whole sweep; of a shard, nothing is said.
std::vector<std::string> notes_on_axes(const SweepTable& table);

// Keys that the scenario of a sweep states and that change nothing (scenario/idle_keys.hpp) at any of a few points that
// run, spread over the table.
std::vector<std::string> notes_on_keys(const SweepFile& sweep, const DataFolders& folders, const SweepTable& table);

// Its scenario's assertions are not checked at the points: which commands do. None where there are none.
std::vector<std::string> notes_on_assertions(const SweepFile& sweep);

// Of each status but `ok`, the first point that has it, with its reason: "point 3: ...". Empty where there is none.
std::array<std::string, kPointStatuses> first_reasons(const SweepTable& table);

}  // namespace mirfak
