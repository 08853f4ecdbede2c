#pragma once

#include "energy/launch_points.hpp"
#include "program/body.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// A pass at one clock: its steps, block after block. All settings of a pass have the same blocks with the same steps in
// the same order; blocks that are alike are one Body.
using PassSteps = std::vector<const Body*>;

// Kernels that have a clock of their own, in the order of issue: those between two collectives of a pass, or of these
// the consecutive ones of one class (Activity: products, attention, bound by memory).
enum class PartCut : std::uint8_t { collectives, kernel_classes };

// Parts of a pass, of one rank.
struct PassParts {
  struct Figures {
    Picoseconds kernels = 0;  // from the start of the part's first kernel to the end of its last
    Picoseconds lasts = 0;    // until the next part starts, or the pass ends: with what the kernels behind wait for
    double energy_j = 0;
    std::size_t launch = 0;  // the part's kernel with which the collectives beside it start; 0: as soon as they can

    Picoseconds waits() const { return lasts - kernels; }
  };
  std::vector<std::vector<Figures>> figures;  // by part and setting
};
// Returns the parts with collectives that start as soon as their data are there or, if `launches_at` is given, with
// collectives that start with the kernel that ends the part soonest (launch_points.hpp). `launches_at`: bytes per
// second that kernels and collectives of both halves of a microbatch move through the memory at most.
PassParts parts_of(std::span<const PassSteps> settings, PartCut cut, std::optional<double> launches_at = {});

// Settings of a pass: clocks, for each number of multiprocessors of collectives in turn. Between settings that differ
// in multiprocessors alone, no clock changes.
struct SettingList {
  std::size_t clocks = 0;  // of each number of multiprocessors; 0: all settings are clocks

  std::size_t clock_of(std::size_t setting) const { return clocks == 0 ? setting : setting % clocks; }
  // The setting of the highest clock with the same multiprocessors.
  std::size_t highest_of(std::size_t setting) const { return clocks == 0 ? 0 : setting - setting % clocks; }
};

// A setting for each part. A collective has the multiprocessors of the part that lasts until its end: the last one
// before the kernel that waits for it first or, if that is not the first of its part, this part.
using PartSettings = std::vector<std::size_t>;
// A kernel for each part, with which the collectives beside it start, as PassParts::Figures says; none: 0 for each.
using PartLaunches = std::vector<std::size_t>;
PartLaunches launches_of(const PassParts& parts, const PartSettings& plan);

// Returns the settings of the corners of the lower convex hull of all plans of a pass (time, energy), the fastest
// first. The time of a plan is the sum of its parts, and for each change of setting the time of a change beyond the
// wait before the part: a change begins when the part before has ended, and the next part waits for its end.
// If a change takes longer than the pass, only plans of one setting are left.
//
// For a price of time, the cheapest plan is a shortest path over parts and settings; prices between known corners find
// all others (Eisner and Severance, Mathematical techniques for efficient record segmentation, Journal of the ACM 23,
// 1976).
std::vector<PartSettings> hull_of_parts(const PassParts& parts, Picoseconds change, SettingList list = {});

// Folds a pass whose parts run at settings of their own. Changes of clock are steps on the stream of kernels, behind
// the part before; collectives are those of the highest clock.
class MixedPass {
 public:
  // Constants of a pass besides its settings.
  struct Surroundings {
    Picoseconds change = 0;         // time of a change of clock
    Picoseconds pass_host = 0;      // the host's work at the start of the pass
    double memory_bytes_per_s = 0;  // as parts_of() says; for launches alone
    SettingList list = {};
  };
  // The settings must outlive this object.
  MixedPass(std::span<const PassSteps> settings, PartCut cut, const Surroundings& surroundings)
      : settings_(settings), cut_(cut), surroundings_(surroundings) {}

  // `launches`: of parts for which launched_with() gives times.
  FoldedBody folded(const PartSettings& plan, const PartLaunches& launches = {});

 private:
  struct KernelPlan {
    std::size_t setting = 0;
    std::size_t launch = 0;      // at the first kernel of a part that is in the block
    bool change_behind = false;  // a change of clock follows

    friend auto operator<=>(const KernelPlan&, const KernelPlan&) = default;
  };
  struct BlockPlan {
    std::vector<KernelPlan> kernels;       // by kernel of a block
    std::vector<std::size_t> collectives;  // by collective: the setting that it is taken from

    friend auto operator<=>(const BlockPlan&, const BlockPlan&) = default;
  };
  std::vector<BlockPlan> by_block(const PartSettings& plan, const PartLaunches& launches) const;
  Body mixed(std::size_t block, const BlockPlan& plan) const;

  std::span<const PassSteps> settings_;
  PartCut cut_;
  Surroundings surroundings_;
  std::map<std::pair<const Body*, BlockPlan>, FoldedBody> known_;
};

}  // namespace mirfak
