#pragma once

#include "program/body.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// A pass at one clock: its steps, block after block. All settings of a pass have the same blocks with the same steps in
// the same order; blocks that are alike are one Body.
using PassSteps = std::vector<const Body*>;

// Parts of a pass, of one rank: a part is the kernels between two collectives in the order of issue.
struct PassParts {
  struct Figures {
    Picoseconds duration = 0;
    double energy_j = 0;
  };
  std::vector<std::vector<Figures>> figures;  // by part and setting: sums over the part's kernels
  // By part: time for which the kernels wait for collectives before it, at the first setting; 0 for the first part.
  std::vector<Picoseconds> waits;
};
PassParts parts_of(std::span<const PassSteps> settings);

// A setting for each part.
using PartSettings = std::vector<std::size_t>;

// Returns the settings of the corners of the lower convex hull of all plans of a pass (time, energy), the fastest
// first. The time of a plan is the sum of its parts' durations, and for each change of setting the time of a change
// beyond the wait before the part: a change begins when the part before has ended, and the next part waits for its end.
// If a change takes longer than the pass, only plans of one setting are left.
//
// For a price of time, the cheapest plan is a shortest path over parts and settings; prices between known corners find
// all others (Eisner and Severance, Mathematical techniques for efficient record segmentation, Journal of the ACM 23,
// 1976).
std::vector<PartSettings> hull_of_parts(const PassParts& parts, Picoseconds change);

// Folds a pass whose parts run at settings of their own. Changes of clock are steps on the stream of kernels, behind
// the part before; collectives are those of the first setting.
class MixedPass {
 public:
  // `pass_host`: the host's work at the start of the pass. The settings must outlive this object.
  MixedPass(std::span<const PassSteps> settings, Picoseconds change, Picoseconds pass_host)
      : settings_(settings), change_(change), pass_host_(pass_host) {}

  FoldedBody folded(const PartSettings& plan);

 private:
  // By kernel of a block, the setting; negative: a change of clock follows (-1 - setting).
  using BlockSettings = std::vector<int>;
  std::vector<BlockSettings> by_block(const PartSettings& plan) const;
  Body mixed(std::size_t block, const BlockSettings& kernels) const;

  std::span<const PassSteps> settings_;
  Picoseconds change_;
  Picoseconds pass_host_;
  std::map<std::pair<const Body*, BlockSettings>, FoldedBody> known_;
};

}  // namespace mirfak
