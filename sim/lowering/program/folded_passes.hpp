#pragma once

#include "program/body.hpp"
#include "program/rank_factors.hpp"
#include "program/stage_plan.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// The tasks of a pass, or of a part of a pass, that is written as one task of the device: the host's work before it
// (lead) and in parallel with it (rest), the device's task, and the time that the host waits for the device.
enum class PassTask : std::uint8_t { lead, rest, device, wait };
inline constexpr std::size_t kPassTasks = 4;
using PassTaskTimes = std::array<Picoseconds, kPassTasks>;
PassTaskTimes times_of(const FoldedBody& pass);

// A pass of a plan, or a part of a pass, that is one task of the device.
struct FoldedPass {
  Pass::Kind kind{};
  int chunk = 0;
  int first = 0;  // first of the blocks [first, last) of the pass
  int last = 0;
  Body around;  // kernels around collectives over replicas, after the blocks
  GroupingId meets = kAlone;
  std::array<ClassId, kPassTasks> classes{};
  std::uint32_t plan = 0;
};

// All folded passes of a program, and for each of the program's ranks the exchanges in passes that leave the rank's
// node (empty: no port is slow).
struct FoldedPasses {
  std::vector<FoldedPass> all;
  std::vector<LeavesNode> leaves;
};

// Computes the times that passes take on ranks with factors.
class FoldedPassTimes {
 public:
  FoldedPassTimes() = default;
  // The plans must outlive this object.
  FoldedPassTimes(std::span<const StagePlan> plans, FoldedPasses passes);

  const std::vector<FoldedPass>& all() const { return passes_.all; }
  const std::vector<LeavesNode>& leaves() const { return passes_.leaves; }
  // Times of the passes of a plan, in their order in all().
  std::vector<PassTaskTimes> of(std::uint32_t plan, const ActivityFactors& factors) const;

 private:
  FoldedPasses passes_;
  std::span<const StagePlan> plans_;
  std::vector<std::vector<std::size_t>> of_plan_;  // indices of the passes of each plan
};

}  // namespace mirfak
