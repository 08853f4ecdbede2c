#include "schedule/zero_bubble.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Returns `warmup` forward passes, then forward and backward passes in turn; the backward pass of weights follows that
// of inputs by `delay` microbatches.
std::vector<Pass> split_order(int microbatches, int warmup, int delay) {
  std::vector<Pass> order;
  order.reserve(3 * static_cast<std::size_t>(microbatches));
  int weights = 0;
  for (int forward = 0, backward = -warmup; backward < microbatches; ++forward, ++backward) {
    if (forward < microbatches) order.push_back({Pass::Kind::forward, 0, forward});
    if (backward < 0) continue;
    order.push_back({Pass::Kind::backward_input, 0, backward});
    if (backward >= delay) order.push_back({Pass::Kind::backward_weight, 0, weights++});
  }
  while (weights < microbatches) order.push_back({Pass::Kind::backward_weight, 0, weights++});
  return order;
}

// Writer of the passes of a stage with two chunks, each with its own counts.
class VeeWriter {
 public:
  explicit VeeWriter(int microbatches) : microbatches_(microbatches) {}

  bool left(Pass::Kind kind, int chunk) const { return next(kind, chunk) < microbatches_; }
  int next(Pass::Kind kind, int chunk) const {
    return next_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(chunk)];
  }
  void add(Pass::Kind kind, int chunk) {
    if (!left(kind, chunk)) return;
    order_.push_back({kind, chunk, next_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(chunk)]++});
  }
  // Backward passes of a microbatch are added only after its forward pass.
  void add_backward(int chunk, bool weights) {
    if (next(Pass::Kind::backward_input, chunk) == next(Pass::Kind::forward, chunk)) return;
    add(Pass::Kind::backward_input, chunk);
    if (weights) add(Pass::Kind::backward_weight, chunk);
  }
  void add_weights(int chunk) {
    while (next(Pass::Kind::backward_weight, chunk) < next(Pass::Kind::backward_input, chunk)) {
      add(Pass::Kind::backward_weight, chunk);
    }
  }
  std::vector<Pass> take() { return std::move(order_); }

 private:
  int microbatches_;
  int next_[4][2] = {};
  std::vector<Pass> order_;
};

}  // namespace

// Keeps the number of microbatches whose backward pass of weights has not run at p or less: p - s - 1 forward passes
// are ahead, and s backward passes of weights are delayed.
std::vector<Pass> zero_bubble_h1_order(const PipelineShape& shape, int stage) {
  return split_order(shape.microbatches, std::min(shape.stages - stage - 1, shape.microbatches), stage);
}

std::vector<Pass> zero_bubble_h2_order(const PipelineShape& shape, int stage) {
  return split_order(shape.microbatches, std::min(2 * (shape.stages - stage - 1), shape.microbatches), 2 * stage);
}

// Order: forward passes until the first microbatch comes back along the V, p of them on the stages that hold it
// longest; then forward, backward of inputs and of weights of each chunk in turn; then backward passes of inputs until
// other stages have received all that they wait for.
std::vector<Pass> zero_bubble_v_order(const PipelineShape& shape, int stage) {
  VeeWriter out(shape.microbatches);
  const int behind = shape.stages - stage;  // stages from this one to the turn, this one included
  for (int i = 0; i < 2 * behind - 1; ++i) out.add(Pass::Kind::forward, 0);
  for (int i = 0; i < stage; ++i) {
    out.add(Pass::Kind::forward, 1);
    out.add(Pass::Kind::forward, 0);
  }
  for (int i = 0; i < behind; ++i) {
    out.add(Pass::Kind::forward, 1);
    out.add_backward(1, true);
  }
  while (out.left(Pass::Kind::forward, 1)) {
    out.add(Pass::Kind::forward, 0);
    out.add_backward(0, true);
    out.add(Pass::Kind::forward, 1);
    out.add_backward(1, true);
  }
  for (int i = 0; i < stage; ++i) {
    out.add_backward(0, false);
    out.add_backward(1, false);
  }
  for (int i = 0; i < behind; ++i) out.add_backward(0, true);
  while (out.left(Pass::Kind::backward_input, 0) || out.left(Pass::Kind::backward_input, 1)) {
    out.add_backward(0, false);
    out.add_backward(1, false);
  }
  out.add_weights(1);
  out.add_weights(0);
  return out.take();
}

}  // namespace mirfak
