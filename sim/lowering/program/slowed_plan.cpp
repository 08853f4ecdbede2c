#include "program/slowed_plan.hpp"

#include "base/error.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

double at(const ActivityFactors& factors, Activity activity) { return factors[static_cast<std::size_t>(activity)]; }

void slow(BodyStep& step, const ActivityFactors& factors) {
  const BodyStepTimes times = slowed_times(step, factors);
  step.device = times.device;
  step.held = times.held;
  step.host = times.host;
  step.host_behind = times.host_behind;
  step.network_bytes_per_s /= at(factors, step.activity);
}

RowBodies slowed(RowBodies row, const ActivityFactors& factors) {
  for (PlacedBody& placed : row.at) {
    placed.steps.body = slowed(std::move(placed.steps.body), factors);
    placed.folded = fold(placed.steps.body);
  }
  row.late = slowed(std::move(row.late), factors);
  return row;
}

BlockBodies slowed(BlockBodies bodies, const ActivityFactors& factors) {
  if (bodies.forward.steps.empty() && bodies.folded_forward.device > 0)
    fail_internal("slowed plan: bodies without steps");
  bodies.forward = slowed(std::move(bodies.forward), factors);
  bodies.backward = slowed(std::move(bodies.backward), factors);
  bodies.forward_row = slowed(std::move(bodies.forward_row), factors);
  bodies.backward_row = slowed(std::move(bodies.backward_row), factors);
  bodies.split.inputs = slowed(std::move(bodies.split.inputs), factors);
  bodies.split.weights = slowed(std::move(bodies.split.weights), factors);
  bodies.folded_forward = fold(bodies.forward);
  bodies.folded_backward = fold(bodies.backward);
  bodies.folded_backward_input = fold(bodies.split.inputs);
  bodies.folded_backward_weight = fold(bodies.split.weights);
  return bodies;
}

}  // namespace

Body slowed(Body body, const ActivityFactors& factors) {
  for (BodyStep& step : body.steps) slow(step, factors);
  return body;
}

StagePlan slowed(const StagePlan& plan, const ActivityFactors& factors) {
  StagePlan out = plan;
  auto bodies = std::make_shared<std::vector<BlockBodies>>();
  for (const BlockBodies& block : *plan.bodies) bodies->push_back(slowed(block, factors));
  out.bodies = std::move(bodies);
  out.pass_host = slowed(plan.pass_host, at(factors, Activity::host));
  return out;
}

}  // namespace mirfak
