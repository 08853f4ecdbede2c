#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Pass of a stage, by its index in the order of the stage.
struct PassIndex {
  int stage = 0;
  std::size_t index = 0;
};

// Times of passes that wait only for each other. A stage runs its passes in order. A forward pass waits for the forward
// pass of the part before; a backward pass of inputs waits for that of the part after, or at the last part for its own
// forward pass. The passes of a pair start and end together.
struct PassTimeline {
  struct Interval {
    std::int64_t start = 0;
    std::int64_t end = 0;
  };
  std::vector<std::vector<Interval>> stages;  // ordered as the orders of stages
  std::optional<PassIndex> stuck;             // first pass that waits forever, if any; later passes have no times

  std::int64_t end() const;  // end of the last pass
  // Returns the time from a stage's first pass to its last: the least interval between iterations if no stage waits for
  // all others before its optimizer step.
  std::int64_t span(int stage) const;
  std::int64_t longest_span() const;
  // Returns the idle time within a stage's span.
  std::int64_t idle(int stage) const;
};
PassTimeline run_passes(const StageOrders& orders, const Placement& placement, const PassTimes& times);

// Returns the largest number of chunk passes whose activations a stage keeps at once: microbatches times chunks of the
// stage. A chunk pass counts from its forward pass until its backward pass of weights has ended.
int max_in_flight(const std::vector<Pass>& order);

// Fault of orders: a pass that does not belong to its stage, appears twice, comes before its prerequisites, is missing,
// or waits forever.
struct OrderFault {
  PassIndex where;  // the pass; for a missing pass, the last pass related to it
  std::string message;
  std::string hint;
};
std::optional<OrderFault> first_fault(const StageOrders& orders, const Placement& placement, int microbatches);

// Returns a pass as text, "2F0": part, kind (F, B, I for inputs, W for weights) and microbatch.
std::string pass_text(const Placement& placement, int stage, const Pass& pass);

}  // namespace mirfak
