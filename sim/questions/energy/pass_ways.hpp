#pragma once

#include "energy/cost_curve.hpp"
#include "energy/part_clocks.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
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
  // Choices inside of a pass.
  struct Inside {
    std::optional<Picoseconds> change = {};  // time of a change of clock between parts; nothing: one clock
    PartCut cut = PartCut::collectives;      // of the parts that have clocks of their own
    bool launches = false;  // collectives beside the other half's kernels may start later (launch_points.hpp)
  };
  // Returns the pass at each setting and, with clocks of parts, with a setting for each part at the corners of the hull
  // of such plans; with launches, all of these also with the launches that end each part soonest. Energies are those of
  // `ranks` ranks.
  std::vector<ClockChoice> choices(const PassPlace& of, const Inside& inside, double ranks);
  // Returns the plans of the hull whose parts have the multiprocessors for collectives of this way or of `others`,
  // which differ from this way in them alone. Nothing if steps of the pass differ in more than their times.
  std::optional<std::vector<ClockChoice>> choices_with(std::span<PassWays* const> others, const PassPlace& of,
                                                       const Inside& inside, double ranks);

 private:
  struct Plan {
    PartSettings settings;
    PartLaunches launches;  // empty: collectives start as soon as they can
  };
  static void add_hull(const PassParts& parts, const Inside& inside, bool late, SettingList list,
                       std::vector<Plan>& out);
  std::shared_ptr<PassWay> way_of(const Plan& plan, std::vector<PassWay::Run> clocks) const;
  // `parts`: of the settings, with collectives that start as soon as they can.
  std::vector<Plan> plans_of(std::span<const PassSteps> settings, const PassParts& parts, const PassPlace& of,
                             const Inside& inside, SettingList list) const;
  MixedPass mixed(std::span<const PassSteps> settings, const PassPlace& of, const Inside& inside,
                  SettingList list) const;
  std::optional<PassSteps> steps_in_order(PassWays& other, const PassPlace& of, std::size_t setting);
  const Body* block_in_order(PassWays& other, const PassPlace& of, int index, std::size_t setting);
  double memory_bytes_per_s(const PassPlace& of) const;

  PassSteps steps_of(const PassPlace& of, std::size_t setting, PartCut cut);
  const Body& block_of(const PassPlace& of, int index, std::size_t setting);
  const Body& no_faster_block_of(const PassPlace& of, int index, std::size_t setting);
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
  std::map<BodyKey, Body> no_faster_;  // bodies at lower settings, as no_faster() has them
  // Bodies of other ways in the order of this way's; nothing: their steps differ in more than times.
  std::map<std::pair<const Body*, const Body*>, std::optional<Body>> of_others_;
};

}  // namespace mirfak
