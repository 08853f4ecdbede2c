#include "program/folded_passes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace mirfak {

PassTaskTimes times_of(const FoldedBody& pass) {
  const Picoseconds waited = std::max<Picoseconds>(0, pass.waited);
  // Factors can make a pass that is no longer one task (FoldedBody::is_one_task): then the host comes a little late.
  const Picoseconds rest = std::max<Picoseconds>(0, pass.host - pass.lead - waited);
  return {pass.lead, rest, pass.device, waited};
}

FoldedPassTimes::FoldedPassTimes(std::span<const StagePlan> plans, FoldedPasses passes)
    : passes_(std::move(passes)), plans_(plans), of_plan_(plans.size()) {
  for (std::size_t i = 0; i < passes_.all.size(); ++i) of_plan_[passes_.all[i].plan].push_back(i);
}

namespace {

// The blocks of a plan, each folded when it is first asked for.
class SlowedBlocks {
 public:
  SlowedBlocks(const StagePlan& plan, const ActivityFactors& factors)
      : plan_(plan), factors_(factors), known_(kRowPlaces * kPassKinds * plan.bodies->size()) {}

  const FoldedBody& of(BlockId block, Pass::Kind kind, RowPlace place) {
    const std::size_t of_kind = static_cast<std::size_t>(block) * kPassKinds + static_cast<std::size_t>(kind);
    std::optional<FoldedBody>& known = known_[of_kind * kRowPlaces + index_of(place)];
    if (!known) known = fold_times(body_of(plan_.bodies_of(block), kind, place), factors_);
    return *known;
  }

 private:
  static constexpr std::size_t kPassKinds = 4;
  const StagePlan& plan_;
  const ActivityFactors& factors_;
  std::vector<std::optional<FoldedBody>> known_;
};

}  // namespace

std::vector<PassTaskTimes> FoldedPassTimes::of(std::uint32_t plan, const ActivityFactors& factors) const {
  const StagePlan& of_plan = plans_[plan];
  const Picoseconds pass_host = slowed(of_plan.pass_host, factors[static_cast<std::size_t>(Activity::host)]);
  SlowedBlocks blocks(of_plan, factors);
  const auto fold_of = [&](BlockId block, Pass::Kind kind, RowPlace place) -> const FoldedBody& {
    return blocks.of(block, kind, place);
  };
  std::vector<PassTaskTimes> out;
  for (const std::size_t i : of_plan_[plan]) {
    const FoldedPass& pass = passes_.all[i];
    const ChunkPlan& chunk = of_plan.chunks[static_cast<std::size_t>(pass.chunk)];
    FoldedBody folded = fold_blocks(of_plan, chunk, pass.kind, pass.first, pass.last, pass_host, fold_of);
    if (!pass.around.steps.empty()) append(folded, fold_times(pass.around, factors));
    out.push_back(times_of(folded));
  }
  return out;
}

}  // namespace mirfak
