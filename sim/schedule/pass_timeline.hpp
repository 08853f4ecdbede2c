#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A pass of a stage by its place in the stage's order.
struct PassIndex {
  int stage = 0;
  std::size_t index = 0;
};

// When passes run that wait for nothing but each other: a stage runs its passes in order; a forward pass waits for that
// of the part before, a backward pass of inputs for that of the part behind, or at the last part for its own forward
// pass. A pair starts and ends together.
struct PassTimeline {
  struct Interval {
    std::int64_t start = 0;
    std::int64_t end = 0;
  };
  std::vector<std::vector<Interval>> stages;  // as the orders
  std::optional<PassIndex> stuck;             // the first pass that waits for ever, if any: what follows has no times

  std::int64_t end() const;  // of the last pass
  // From a stage's first pass to its last: how often iterations can follow each other where no stage waits for all
  // others before its optimizer step.
  std::int64_t span(int stage) const;
  std::int64_t longest_span() const;
  // Of a stage's span, what it runs nothing.
  std::int64_t idle(int stage) const;
};
PassTimeline run_passes(const StageOrders& orders, const Placement& placement, const PassTimes& times);

// Activations that stages keep, in those of one microbatch in all chunks of a stage times the number of its chunks: a
// chunk pass counts from its forward pass until its backward pass of weights has ended.
int max_in_flight(const std::vector<Pass>& order);

// What is wrong with orders: a pass that does not belong, comes twice, before what it needs, is missing, or waits for
// ever.
struct OrderFault {
  PassIndex where;  // the pass; where one is missing, the last that has to do with it
  std::string message;
  std::string hint;
};
std::optional<OrderFault> first_fault(const StageOrders& orders, const Placement& placement, int microbatches);

// "2F0": part, kind (F, B, I for inputs, W for weights) and microbatch.
std::string pass_text(const Placement& placement, int stage, const Pass& pass);

}  // namespace mirfak
