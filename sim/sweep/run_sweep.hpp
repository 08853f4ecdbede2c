#pragma once

#include "base/progress.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sweep_file.hpp"
#include "sweep/sweep_table.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

struct SweepOptions {
  int jobs = 0;  // threads; 0: all cores
  int shard = 1;
  int shards = 1;
  bool resume = false;
  std::function<bool()> interrupted = {};  // asked between points; empty: never
  Progress::Print progress = {};           // empty: none
  // Told how many points are finished, and how many there are, by the threads that work. Empty: nobody.
  std::function<void(std::uint64_t done, std::uint64_t total)> counted = {};
  int columns = 80;  // of the terminal that shows it
};

// What a run of a sweep, or of a shard of it, came to.
struct SweepOutcome {
  bool complete = false;      // the table is written; else interrupted, with all finished points in the journal
  bool was_complete = false;  // before this run
  std::uint64_t points = 0;   // of the shard
  std::uint64_t before = 0;   // of these, those that an earlier run had finished
  std::uint64_t done = 0;     // all that are finished now
  // Where complete:
  std::array<std::uint64_t, kPointStatuses> by_status{};
  std::array<std::string, kPointStatuses> reasons;  // of the first point of each status but `ok`
  std::vector<std::string> notes;                   // on axes and keys that change nothing
  std::optional<SweepTable> table;                  // of few points, kMostShown or fewer: for people to read
};

inline constexpr std::size_t kMostShown = 64;

// Takes over what a complete table says by itself: counts, reasons, and notes on axes.
void tell(const SweepTable& table, SweepOutcome& outcome);

// The journal of a run: where finished points are until the table is written.
std::filesystem::path journal_of(const std::filesystem::path& out);

// Simulates all points of a sweep on all cores and writes their table to `out`. Finished points go to a journal beside
// it, which outlives a run that is killed at any moment; `resume` goes on from there, and is a fresh start where there
// is none. The table has the same bytes whatever the threads, interruptions and machines. Error(input): a fault of the
// sweep or its scenario that no axis value has to answer for, or that is at every point; a table or a journal that is
// there already, without `resume`; one of another sweep, or of the same with other data or another mirfak, with it.
SweepOutcome run_sweep(const SweepFile& sweep, const DataFolders& folders, const std::filesystem::path& out,
                       const SweepOptions& options);

}  // namespace mirfak
