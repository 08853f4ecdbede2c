#pragma once

#include "energy/cost_curve.hpp"
#include "energy/part_clocks.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// A kind of pass of a job.
struct PassPlace {
  int stage = 0;
  int chunk = 0;
  Pass::Kind kind{};
};

// A job in one of the ways to run its passes (parts of a microbatch, multiprocessors of collectives), priced at every
// setting of its stages' clocks.
class PassWays {
 public:
  // `clocks`: by stage, highest first. `job` has replicas of one class.
  PassWays(Job job, const std::vector<std::vector<double>>& clocks);

  // Returns the whole pass at the first setting.
  FoldedBody at_highest(const PassPlace& of) const;
  // True if the host's work on the pass takes longer than the device's: then the pass's own time does not decide.
  bool host_decides(const PassPlace& of) const;
  // Returns the pass at each setting and, if `change` is given, with a setting for each part at the corners of the hull
  // of such plans, with `change` as the time of a change of clock. Energies are those of `ranks` ranks.
  std::vector<ClockChoice> choices(const PassPlace& of, std::optional<Picoseconds> change, double ranks);

 private:
  PassSteps steps_of(const PassPlace& of, std::size_t setting);
  const Body& block_of(const PassPlace& of, int index, std::size_t setting);
  const StagePlan& plan(const PassPlace& of, std::size_t setting) const {
    return at_[setting][static_cast<std::size_t>(of.stage)];
  }
  const ChunkPlan& chunk(const PassPlace& of) const { return plan(of, 0).chunks[static_cast<std::size_t>(of.chunk)]; }

  std::unique_ptr<const Job> job_;  // plans refer to it
  ShardedBlocks blocks_;
  std::vector<std::vector<double>> clocks_;
  std::vector<std::vector<StagePlan>> at_;  // by setting and stage
  // Bodies with two parts of a microbatch at lower settings, in the order of the highest one.
  using BodyKey = std::pair<const Body*, std::size_t>;
  std::map<BodyKey, Body> ordered_;
};

}  // namespace mirfak
