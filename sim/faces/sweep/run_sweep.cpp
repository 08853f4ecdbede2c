// Threads take blocks of points in turn, simulate them, and append their results to the journal. When all blocks are
// finished, the journal is read back and written as a table: only then all rows are in one place. A run that was never
// interrupted and a run that was killed a hundred times therefore end in the same way.

#include "sweep/run_sweep.hpp"

#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/parallel.hpp"
#include "base/staged_file.hpp"
#include "sweep/block_record.hpp"
#include "sweep/journal.hpp"
#include "sweep/point_evaluation.hpp"
#include "sweep/sweep_hdf5.hpp"
#include "sweep/sweep_notes.hpp"
#include "sweep/work_blocks.hpp"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

SweepHeading heading_of(const SweepFile& sweep, const DataFolders& folders, const SweepOptions& options) {
  const std::string captures = capture_hash(sweep, folders);
  return {sweep.definition(),
          data_hash({folders.models, folders.hardware}) + (captures.empty() ? "" : ", captures " + captures),
          std::string(program_version()),
          sweep.points(),
          options.shard,
          options.shards};
}

std::string text_of(const SweepHeading& heading) {
  return fmt::format("mirfak {}\ndata {}\nshard {}/{}\n{}", heading.program, heading.data, heading.shard,
                     heading.shards, heading.definition);
}

// Returns the first line in which two headings differ, in words.
std::string difference(std::string_view found, std::string_view wanted) {
  const auto first_line = [](std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
  };
  for (const char* what : {"it was begun by {}, this is {}", "models or hardware profiles have changed: {}, now {}",
                           "it holds {}, this is {}"}) {
    const std::string_view theirs = first_line(found);
    const std::string_view ours = first_line(wanted);
    if (theirs != ours) return fmt::format(fmt::runtime(what), theirs, ours);
  }
  return "its scenario or its axes are not the same";
}

[[noreturn]] void fail_other(const fs::path& file, std::string_view found, std::string_view wanted) {
  fail_input({file.string()}, "cannot be resumed: " + difference(found, wanted),
             "go on with what it was begun with, delete it, or choose another --out");
}

class SweepRun {
 public:
  SweepRun(const SweepFile& sweep, const DataFolders& folders, fs::path out, const SweepOptions& options)
      : sweep_(sweep),
        folders_(folders),
        out_(std::move(out)),
        options_(options),
        heading_(heading_of(sweep, folders, options)),
        blocks_(sweep.points(), options.shard, options.shards),
        done_(blocks_.count(), false) {
    outcome_.points = blocks_.points();
  }

  SweepOutcome run() {
    check_writable(out_);
    if (!options_.resume) refuse_existing();
    if (fs::exists(out_)) return complete_already();
    open_journal();
    remove_stale();
    simulate();
    if (outcome_.done == outcome_.points) finish();
    return outcome_;
  }

 private:
  void refuse_existing() const;
  SweepOutcome complete_already();
  void open_journal();
  void remove_stale() const;
  void simulate();
  void work(const PointSources& sources, Progress& progress);
  bool simulate_block(PointEvaluation& evaluation, std::uint64_t block, Progress& progress);
  bool stopped() const { return stop_ || (options_.interrupted && options_.interrupted()); }
  std::optional<std::uint64_t> next_block();
  void finish();
  void refuse_if_none_is_read(const SweepTable& table);
  void tell_all(const SweepTable& table);
  std::string no_longer_needed(const std::error_code& kept) const;
  void mark(std::uint64_t block);

  const SweepFile& sweep_;
  const DataFolders& folders_;
  fs::path out_;
  const SweepOptions& options_;
  SweepHeading heading_;
  WorkBlocks blocks_;
  std::vector<bool> done_;
  SweepOutcome outcome_;
  std::unique_ptr<Journal> journal_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> finished_{0};  // points
  std::atomic<bool> stop_{false};
};

void SweepRun::refuse_existing() const {
  if (is_being_written(journal_of(out_))) fail_running(journal_of(out_));
  if (fs::exists(out_)) fail_input({out_.string()}, "this file exists", "delete it, or choose another --out");
  if (fs::exists(journal_of(out_))) {
    fail_input({journal_of(out_).string()}, "an earlier run of this sweep was interrupted",
               "go on with --resume, or delete this file to start anew");
  }
}

SweepOutcome SweepRun::complete_already() {
  const SweepTable table = read_sweep_table(out_);
  if (text_of(table.heading) != text_of(heading_)) fail_other(out_, text_of(table.heading), text_of(heading_));
  std::error_code kept;
  fs::remove(journal_of(out_), kept);  // journal of a run that was killed between its last two steps
  outcome_.was_complete = true;
  outcome_.before = outcome_.done = table.rows();
  tell_all(table);
  if (kept) outcome_.notes.push_back(no_longer_needed(kept));
  return outcome_;
}

void SweepRun::mark(std::uint64_t block) {
  if (block >= blocks_.count() || done_[block]) return;
  done_[block] = true;
  outcome_.before += blocks_.end(block) - blocks_.begin(block);
}

void SweepRun::open_journal() {
  const fs::path path = journal_of(out_);
  const std::string header = text_of(heading_);
  journal_ = std::make_unique<Journal>(
      path, header, [&](std::string_view found) { fail_other(path, found, header); },
      [&](std::string_view record) { mark(block_of_record(record)); });
  finished_ = outcome_.before;
}

// Removes half-written files of killed runs, for the table and for the journal. The journal is locked, so no process is
// writing one.
void SweepRun::remove_stale() const {
  const auto is_stale = [&](const std::string& name) {
    return is_staged_for(out_, name) || is_staged_for(journal_of(out_), name);
  };
  const fs::path folder = out_.has_parent_path() ? out_.parent_path() : fs::path(".");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_stale(entry.path().filename().string())) fs::remove(entry.path(), ignored);
  }
}

std::optional<std::uint64_t> SweepRun::next_block() {
  for (;;) {
    const std::uint64_t block = next_++;
    if (block >= blocks_.count()) return std::nullopt;
    if (!done_[block]) return block;
  }
}

bool SweepRun::simulate_block(PointEvaluation& evaluation, std::uint64_t block, Progress& progress) {
  BlockRecord record(block);
  const std::uint64_t begin = blocks_.begin(block);
  const std::uint64_t end = blocks_.end(block);
  for (std::uint64_t position = begin; position < end; ++position) {
    if (stopped()) return false;
    const std::uint64_t point = sweep_.point_at(position);
    record.append(static_cast<std::uint32_t>(point), evaluation.at(point));
  }
  journal_->append(record.bytes());
  finished_ += end - begin;
  if (options_.counted) options_.counted(finished_, outcome_.points);
  progress.add(end - begin);
  return true;
}

void SweepRun::work(const PointSources& sources, Progress& progress) {
  try {
    PointEvaluation evaluation(sweep_, sources);
    while (const std::optional<std::uint64_t> block = next_block()) {
      if (!simulate_block(evaluation, *block, progress)) return;
    }
  } catch (...) {
    stop_ = true;  // stops the other threads
    throw;
  }
}

void SweepRun::simulate() {
  const PointSources sources(sweep_, folders_);
  Progress progress("points", outcome_.points, outcome_.before, options_.progress, options_.columns);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = options_.jobs > 0 ? static_cast<std::size_t>(options_.jobs) : std::size_t{cores};
  try {
    parallel_for(
        threads, [&](std::size_t) { work(sources, progress); }, options_.jobs);
  } catch (...) {
    if (finished_ == 0) journal_->remove();  // nothing to continue from
    throw;
  }
  journal_->sync();
  outcome_.done = finished_;
}

void SweepRun::finish() {
  SweepTable table;
  table.heading = heading_;
  table.axes = axis_tables(sweep_);
  table.reserve(outcome_.points);
  std::vector<bool> taken(blocks_.count(), false);
  for_each_record(journal_of(out_), [&](std::string_view record) {
    const std::uint64_t block = block_of_record(record);
    if (block >= taken.size() || taken[block]) return;
    taken[block] = true;
    read_block_record(record, table);
  });
  if (table.rows() != outcome_.points) fail_internal(journal_of(out_).string() + ": lost some of its records");
  refuse_if_none_is_read(table);
  write_sweep_table(out_, table);
  const std::error_code kept = journal_->remove();
  tell_all(table);
  if (kept) outcome_.notes.push_back(no_longer_needed(kept));
}

// Refuses a sweep without a readable point: a fault at every point is the sweep's fault, such as the misspelt key of an
// axis.
void SweepRun::refuse_if_none_is_read(const SweepTable& table) {
  if (table.rows() != sweep_.points() || table.count(PointStatus::input) != table.rows()) return;
  journal_->remove();
  fail_as_read(sweep_, folders_, table.point(0), table.reason(0));
}

void SweepRun::tell_all(const SweepTable& table) {
  tell(table, outcome_);
  for (std::string& note : notes_on_keys(sweep_, folders_, table)) outcome_.notes.push_back(std::move(note));
  for (std::string& note : notes_on_assertions(sweep_)) outcome_.notes.push_back(std::move(note));
}

std::string SweepRun::no_longer_needed(const std::error_code& kept) const {
  return fmt::format("{} could not be removed ({}), and is no longer needed", journal_of(out_).string(),
                     kept.message());
}

}  // namespace

void tell(const SweepTable& table, SweepOutcome& outcome) {
  outcome.complete = true;
  for (std::size_t i = 0; i < kPointStatuses; ++i) outcome.by_status[i] = table.count(static_cast<PointStatus>(i));
  outcome.reasons = first_reasons(table);
  outcome.notes = notes_on_axes(table);
  if (table.rows() <= kMostShown) outcome.table = table;
}

fs::path journal_of(const fs::path& out) {
  fs::path path = out;
  return path += ".part";
}

SweepOutcome run_sweep(const SweepFile& sweep, const DataFolders& folders, const fs::path& out,
                       const SweepOptions& options) {
  return SweepRun(sweep, folders, out, options).run();
}

}  // namespace mirfak
