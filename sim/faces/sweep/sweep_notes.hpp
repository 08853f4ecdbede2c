#pragma once

#include "scenario/data_folders.hpp"
#include "scenario/sweep_file.hpp"
#include "sweep/sweep_table.hpp"

#include <array>
#include <string>
#include <vector>

namespace mirfak {

// Returns a note for each axis along which no running point has another figure or another status:
// "strategy.microbatch_group: its 3 values give the same figures everywhere". The table must be of the whole sweep; a
// shard gets no notes.
std::vector<std::string> notes_on_axes(const SweepTable& table);

// Returns notes on keys that the scenario of a sweep states and that change nothing (scenario/idle_keys.hpp) at any of
// a few running points, spread over the table.
std::vector<std::string> notes_on_keys(const SweepFile& sweep, const DataFolders& folders, const SweepTable& table);

// Returns a note that the scenario's assertions are not checked at the points, with the commands that check them. Empty
// if there are no assertions.
std::vector<std::string> notes_on_assertions(const SweepFile& sweep);

// Returns the first point of each status except `ok`, with its reason: "point 3: ...". Empty text: no point has the
// status.
std::array<std::string, kPointStatuses> first_reasons(const SweepTable& table);

}  // namespace mirfak
