#pragma once

#include "program/body.hpp"
#include "program/rank_factors.hpp"
#include "program/stage_plan.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// The tasks that a pass, or a part of one, is written as where it is one task of the device: the host's work in front
// of it and beside it, the device's, and what the host waits for it.
enum class PassTask : std::uint8_t { lead, rest, device, wait };
inline constexpr std::size_t kPassTasks = 4;
using PassTaskTimes = std::array<Picoseconds, kPassTasks>;
PassTaskTimes times_of(const FoldedBody& pass);

// Such a pass of a plan.
struct FoldedPass {
  Pass::Kind kind{};
  int chunk = 0;
  int first = 0;  // the blocks [first, last) of the pass
  int last = 0;
  Body around;  // kernels around collectives over replicas, behind it
  GroupingId meets = kAlone;
  std::array<ClassId, kPassTasks> classes{};
  std::uint32_t plan = 0;
};

// All of a program, and which exchanges in passes leave the node of each of its ranks (empty: no port is slow).
struct FoldedPasses {
  std::vector<FoldedPass> all;
  std::vector<LeavesNode> leaves;
};

// How long passes take on ranks with factors.
class FoldedPassTimes {
 public:
  FoldedPassTimes() = default;
  // The plans must outlive this.
  FoldedPassTimes(std::span<const StagePlan> plans, FoldedPasses passes);

  const std::vector<FoldedPass>& all() const { return passes_.all; }
  const std::vector<LeavesNode>& leaves() const { return passes_.leaves; }
  // Of the passes of a plan, in their order among all().
  std::vector<PassTaskTimes> of(std::uint32_t plan, const ActivityFactors& factors) const;

 private:
  FoldedPasses passes_;
  std::span<const StagePlan> plans_;
  std::vector<std::vector<std::size_t>> of_plan_;  // passes of each
};

}  // namespace mirfak
