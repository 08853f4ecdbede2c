// Greedy simulation of all stages at once. A free stage runs the backward pass of inputs that has arrived; else a
// forward pass that has arrived and for which the stage has memory; else a backward pass of weights, if it has one: at
// once, or only if the pass ends before the next pass arrives. The number of forward passes ahead of the first backward
// pass is tried from few to as many as fit. Nothing here is proved to be optimal: the shortest of the orders is taken,
// including those that are known in closed form.

#include "base/cancellation.hpp"
#include "schedule/pass_timeline.hpp"
#include "schedule/zero_bubble.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Choice {
  int ahead = 1;              // forward passes of the last stage before its first backward pass
  int step = 1;               // further forward passes for each stage before the last
  bool weights_wait = false;  // backward passes of weights run only if they delay no pass that is on its way
};

class GreedyOrders {
 public:
  GreedyOrders(const PipelineShape& shape, const PassTimes& times, int limit, const Choice& choice)
      : shape_(shape), times_(times), limit_(limit), choice_(choice), stages_(static_cast<std::size_t>(shape.stages)) {
    for (Stage& stage : stages_) {
      stage.forward_at.assign(static_cast<std::size_t>(shape.microbatches), kNever);
      stage.backward_at.assign(static_cast<std::size_t>(shape.microbatches), kNever);
    }
    std::fill(stages_.front().forward_at.begin(), stages_.front().forward_at.end(), 0);
  }

  StageOrders run() {
    for (std::int64_t now = 0; now != kNever; now = next_moment(now)) {
      // A pass of zero length may let another stage continue at the same moment.
      for (bool moved = true; moved;) {
        moved = false;
        for (int stage = 0; stage < shape_.stages; ++stage) moved = act(stage, now) || moved;
      }
    }
    StageOrders out;
    for (Stage& stage : stages_) out.push_back(std::move(stage.order));
    return out;
  }

 private:
  struct Stage {
    int forward = 0;  // passes that have begun
    int backward = 0;
    int weights = 0;
    std::int64_t free = 0;
    std::vector<std::int64_t> forward_at;  // arrival time of each microbatch's input, or gradient
    std::vector<std::int64_t> backward_at;
    std::vector<Pass> order;
  };

  std::int64_t arrival(const std::vector<std::int64_t>& at, int next) const {
    return next < shape_.microbatches ? at[static_cast<std::size_t>(next)] : kNever;
  }
  Stage& of(int stage) { return stages_[static_cast<std::size_t>(stage)]; }

  bool act(int index, std::int64_t now) {
    Stage& stage = of(index);
    if (stage.free > now) return false;
    const int ahead =
        std::min({choice_.ahead + choice_.step * (shape_.stages - 1 - index), limit_, shape_.microbatches});
    const std::int64_t backward = arrival(stage.backward_at, stage.backward);
    std::int64_t forward = arrival(stage.forward_at, stage.forward);
    if (stage.forward - stage.weights >= limit_) forward = kNever;
    const bool fills = stage.backward == 0 && stage.forward < ahead;
    if (backward <= now && !(fills && forward <= now)) return begin(index, Pass::Kind::backward_input, now);
    // A stage that is as far ahead as it may be alternates forward and backward passes.
    const bool in_turn = stage.forward < ahead + stage.backward;
    if (forward <= now && in_turn) return begin(index, Pass::Kind::forward, now);
    if (stage.weights == stage.backward) return false;
    const std::int64_t next = std::min(backward, in_turn ? forward : kNever);
    const bool full = stage.forward - stage.weights >= limit_;
    const bool fits = next == kNever || now + times_.of(index, 0).backward_weight <= next;
    if (choice_.weights_wait && !full && !fits) return false;
    return begin(index, Pass::Kind::backward_weight, now);
  }

  bool begin(int index, Pass::Kind kind, std::int64_t now) {
    steps_.step();
    Stage& stage = of(index);
    const PassTimes::OfChunk& times = times_.of(index, 0);
    if (kind == Pass::Kind::forward) {
      stage.free = now + times.forward;
      const auto microbatch = static_cast<std::size_t>(stage.forward);
      if (index + 1 < shape_.stages) {
        of(index + 1).forward_at[microbatch] = stage.free + times_.transfer;
      } else {
        stage.backward_at[microbatch] = stage.free;
      }
      stage.order.push_back({kind, 0, stage.forward++});
    } else if (kind == Pass::Kind::backward_input) {
      stage.free = now + times.backward_input;
      if (index > 0) {
        of(index - 1).backward_at[static_cast<std::size_t>(stage.backward)] = stage.free + times_.transfer;
      }
      stage.order.push_back({kind, 0, stage.backward++});
    } else {
      stage.free = now + times.backward_weight;
      stage.order.push_back({kind, 0, stage.weights++});
    }
    return true;
  }

  // Returns the next time at which a stage becomes free or a pass arrives.
  std::int64_t next_moment(std::int64_t now) const {
    std::int64_t next = kNever;
    const auto consider = [&](std::int64_t moment) {
      if (moment > now) next = std::min(next, moment);
    };
    for (const Stage& stage : stages_) {
      consider(stage.free);
      for (const std::int64_t at :
           {arrival(stage.forward_at, stage.forward), arrival(stage.backward_at, stage.backward)}) {
        if (at != kNever) consider(at);
      }
    }
    return next;
  }

  const PipelineShape& shape_;
  const PassTimes& times_;
  int limit_;
  Choice choice_;
  CancellationSteps steps_;
  std::vector<Stage> stages_;
};

// Shortest order so far that keeps the limit.
class Shortest {
 public:
  Shortest(const PipelineShape& shape, const PassTimes& times, int limit)
      : placement_(Placement::looped(shape.stages, 1)), times_(times), limit_(limit) {}

  void consider(StageOrders orders) {
    for (const auto& order : orders) {
      if (max_in_flight(order) > limit_) return;
    }
    const PassTimeline timeline = run_passes(orders, placement_, times_);
    if (timeline.stuck) return;
    const std::pair length(timeline.longest_span(), timeline.end());
    if (length >= length_) return;
    length_ = length;
    best_ = std::move(orders);
  }
  StageOrders take() { return std::move(best_); }

 private:
  Placement placement_;
  const PassTimes& times_;
  int limit_;
  std::pair<std::int64_t, std::int64_t> length_{kNever, kNever};
  StageOrders best_;
};

StageOrders each_stage(const PipelineShape& shape, std::vector<Pass> (*order)(const PipelineShape&, int)) {
  StageOrders out;
  for (int stage = 0; stage < shape.stages; ++stage) out.push_back(order(shape, stage));
  return out;
}

}  // namespace

StageOrders memory_limited_orders(const PipelineShape& shape, const PassTimes& times) {
  const int limit = std::min(shape.max_in_flight > 0 ? shape.max_in_flight : shape.stages, shape.microbatches);
  Shortest shortest(shape, times, limit);
  shortest.consider(each_stage(shape, zero_bubble_h1_order));
  shortest.consider(each_stage(shape, zero_bubble_h2_order));
  const int most = std::min(limit, 2 * shape.stages - 1);
  for (const bool wait : {false, true}) {
    for (const int step : {1, 2}) {
      for (int ahead = 1; ahead <= std::max(1, most); ahead = ahead < 4 ? ahead + 1 : ahead * 2) {
        shortest.consider(GreedyOrders(shape, times, limit, {ahead, step, wait}).run());
      }
    }
  }
  return shortest.take();
}

}  // namespace mirfak
