#include "sweep/sweep_estimate.hpp"

#include "base/stopwatch.hpp"
#include "base/units.hpp"
#include "sweep/block_record.hpp"
#include "sweep/point_evaluation.hpp"
#include "sweep/work_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint64_t kPlaces = 8;         // spread over the sweep: models and clusters change slowest
constexpr std::uint64_t kRun = 16;           // consecutive points: neighbors share data, as in a real run
constexpr double kPointsBetweenFresh = 256;  // points of a block: at most this many share data
constexpr std::uint64_t kRowOverhead = 21;   // bytes per row besides its figures: number, status, codes of its texts
constexpr std::chrono::seconds kLongest(1);

// The measured cost of a point, from runs of neighbors; the first point of each run makes the data that the others
// share.
class Sample {
 public:
  Sample(const SweepFile& sweep, const PointSources& sources) : sweep_(sweep), evaluation_(sweep, sources) {}

  void take_run(std::uint64_t begin, std::uint64_t end, WallClock::time_point until) {
    BlockRecord record(0);
    double first_bytes = 0;
    for (std::uint64_t position = begin; position < end && (points_ == 0 || WallClock::now() < until); ++position) {
      const WallClock::time_point start = WallClock::now();
      const std::uint64_t point = sweep_.point_at(position);
      const PointResult& result = evaluation_.at(point);
      record.append(static_cast<std::uint32_t>(point), result);
      if (result.status == PointStatus::input) {
        if (unread_++ == 0) first_unread_ = {point, result.reason};
      }
      const double seconds = seconds_since(start);
      ++points_;
      if (position == begin) {
        ++runs_;
        first_seconds_ += seconds;
        first_bytes = static_cast<double>(record.bytes().size());
        first_bytes_ += first_bytes;
        continue;
      }
      later_seconds_ += seconds;
    }
    later_bytes_ += static_cast<double>(record.bytes().size()) - first_bytes;
  }

  std::uint64_t points() const { return points_; }

  // Error(input) if none of the points could be read.
  void check(const DataFolders& folders) const {
    if (unread_ == points_ && points_ > 0) fail_as_read(sweep_, folders, first_unread_.first, first_unread_.second);
  }
  // Returns the cost of `points` points, `fresh` of which cost as much as the first point of a run.
  double seconds(double points, double fresh) const { return total(first_seconds_, later_seconds_, points, fresh); }
  double bytes(double points, double fresh) const { return total(first_bytes_, later_bytes_, points, fresh); }

 private:
  double total(double first, double later, double points, double fresh) const {
    const auto runs = static_cast<double>(runs_);
    const auto others = static_cast<double>(points_ - runs_);
    if (others == 0) return points * first / runs;
    return fresh * first / runs + (points - fresh) * later / others;
  }

  const SweepFile& sweep_;
  PointEvaluation evaluation_;
  std::uint64_t points_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t unread_ = 0;
  std::pair<std::uint64_t, std::string> first_unread_;  // with its reason
  double first_seconds_ = 0;
  double later_seconds_ = 0;
  double first_bytes_ = 0;
  double later_bytes_ = 0;
};

}  // namespace

SweepEstimate estimate_sweep(const SweepFile& sweep, const DataFolders& folders, const SweepOptions& options) {
  const WorkBlocks blocks(sweep.points(), options.shard, options.shards);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  SweepEstimate out;
  out.points = blocks.points();
  out.threads = options.jobs > 0 ? options.jobs : static_cast<int>(cores);
  if (blocks.count() == 0) return out;

  const PointSources sources(sweep, folders);
  Sample sample(sweep, sources);
  const std::uint64_t places = std::min(kPlaces, blocks.count());
  const WallClock::time_point begin = WallClock::now();
  for (std::uint64_t place = 0; place < places; ++place) {
    const std::uint64_t first = blocks.begin(place * blocks.count() / places);
    const auto share = kLongest * static_cast<double>(place + 1) / static_cast<double>(places);
    sample.take_run(first, std::min(sweep.points(), first + kRun),
                    begin + std::chrono::duration_cast<WallClock::duration>(share));
  }
  sample.check(folders);
  const auto points = static_cast<double>(out.points);
  const double fresh = std::ceil(points / kPointsBetweenFresh);
  const auto row = static_cast<double>(point_figure_keys().size() * sizeof(double) + kRowOverhead);
  out.sampled = sample.points();
  out.seconds = sample.seconds(points, fresh) / out.threads;
  out.disk_bytes = sample.bytes(points, fresh);
  out.memory_bytes = points * row;
  return out;
}

std::string estimate_text(const SweepEstimate& estimate) {
  return fmt::format("{} points: about {} on {} core{}, {} on disk, {} of memory while the table is written",
                     estimate.points, format_seconds(estimate.seconds), estimate.threads,
                     estimate.threads == 1 ? "" : "s", format_bytes(estimate.disk_bytes),
                     format_bytes(estimate.memory_bytes));
}

}  // namespace mirfak
