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
  std::function<bool()> interrupted = {};  // called between points; empty: never
  Progress::Print progress = {};           // empty: none
  // Called with the number of finished points and the total, by the threads that work. Empty: never called.
  std::function<void(std::uint64_t done, std::uint64_t total)> counted = {};
  int columns = 80;  // columns of the terminal that shows the progress
};

// The outcome of a run of a sweep, or of a shard of it.
struct SweepOutcome {
  bool complete = false;      // the table is written; else interrupted, with all finished points in the journal
  bool was_complete = false;  // complete before this run
  std::uint64_t points = 0;   // points of the shard
  std::uint64_t before = 0;   // points of `points` that an earlier run had finished
  std::uint64_t done = 0;     // all points that are finished now
  // Members below are set only if `complete`.
  std::array<std::uint64_t, kPointStatuses> by_status{};
  std::array<std::string, kPointStatuses> reasons;  // reason of the first point of each status except `ok`
  std::vector<std::string> notes;                   // notes on axes and keys that change nothing
  std::optional<SweepTable> table;                  // only for kMostShown points or fewer: for people to read
};

inline constexpr std::size_t kMostShown = 64;

// Copies the facts that a complete table states by itself: counts, reasons, and notes on axes.
void tell(const SweepTable& table, SweepOutcome& outcome);

// Returns the path of a run's journal, which holds the finished points until the table is written.
std::filesystem::path journal_of(const std::filesystem::path& out);

// Simulates all points of a sweep on all cores and writes their table to `out`. Finished points go to a journal next to
// `out`, which survives a kill of the run at any moment; `resume` continues from the journal, or starts afresh if there
// is none. The table has the same bytes for all threads, interruptions and machines. Error(input): a fault of the sweep
// or its scenario that does not depend on an axis value, or that occurs at every point; without `resume`, a table or a
// journal that exists already; with `resume`, one of another sweep, or of this sweep with other data or another version
// of mirfak.
SweepOutcome run_sweep(const SweepFile& sweep, const DataFolders& folders, const std::filesystem::path& out,
                       const SweepOptions& options);

}  // namespace mirfak
