// Writer of both schedules, which share one pattern. On each stage, "early" is the chunk that microbatches of the
// stage's side reach first, and "late" is the chunk at which microbatches arrive from the other side or back along the
// V. `depth` counts stages from the outer end, of `depths`.
//
//   warm-up    early forward passes, then early and late alternate
//   fill       late backward passes, each followed at once by its weights, and late forward passes
//   pairs      early forward with late backward, late forward with early backward
//   drain      late backward passes alone, then backward passes of both, split in the second half
//   weights    remaining passes of weights, between and after the last early backward passes

#include "schedule/dual_pipe.hpp"

namespace mirfak {

namespace {

class DualWriter {
 public:
  // `step`: microbatches of a chunk are numbered first, first + step, ...; `early`: index of the early chunk.
  DualWriter(int early, int step) : early_(early), step_(step) {}

  void forward(bool late) { add(Pass::Kind::forward, late); }
  void backward(bool late, bool split) {
    add(split ? Pass::Kind::backward_input : Pass::Kind::backward, late);
    if (split) pending_.push_back(order_.back());
  }
  void weights() {
    Pass pass = pending_[done_++];
    pass.kind = Pass::Kind::backward_weight;
    order_.push_back(pass);
  }
  // Adds a forward pass of one chunk in parallel with a backward pass of the other.
  void pair(bool late_forward) {
    forward(late_forward);
    order_.back().with_next = true;
    backward(!late_forward, false);
  }
  std::vector<Pass> take() { return std::move(order_); }

 private:
  void add(Pass::Kind kind, bool late) {
    const int chunk = late ? 1 - early_ : early_;
    const int first = step_ == 1 ? 0 : chunk;
    int& next = next_[is_forward(kind) ? 0 : 1][late ? 1 : 0];
    order_.push_back({kind, chunk, first + step_ * next++});
  }

  int early_;
  int step_;
  int next_[2][2] = {};
  std::vector<Pass> order_;
  std::vector<Pass> pending_;
  std::size_t done_ = 0;
};

// Writes the order of one stage. `of_chunk` is the number of microbatches of each chunk, at least 2 depths.
std::vector<Pass> write(DualWriter out, int depth, int depths, int of_chunk) {
  constexpr bool early = false;
  constexpr bool late = true;
  const int inner = depths - depth - 1;  // stages between this one and the middle
  const int pairs = of_chunk - 2 * depths + depth + 1;
  for (int i = 0; i < 2 * inner; ++i) out.forward(early);
  for (int i = 0; i <= depth; ++i) {
    out.forward(early);
    out.forward(late);
  }
  for (int i = 0; i < inner; ++i) {
    out.backward(late, true);
    out.weights();
    out.forward(late);
  }
  for (int i = 0; i < pairs; ++i) {
    if (i == 0 && inner == 0) {
      // Separate passes, so that the other middle stage gets its input sooner.
      out.forward(early);
      out.backward(late, false);
    } else {
      out.pair(early);
    }
    out.pair(late);
  }
  for (int i = 0; i < inner; ++i) {
    out.backward(late, false);
    out.pair(late);
  }
  for (int i = 0; i < 2 * (depth + 1); ++i) out.backward(i % 2 == 0 ? late : early, i > depth);
  for (int i = 0; i < inner; ++i) {
    out.weights();
    out.backward(early, true);
  }
  for (int i = 0; i <= depth; ++i) out.weights();
  return out.take();
}

}  // namespace

std::vector<Pass> dual_pipe_order(const PipelineShape& shape, int stage) {
  const bool first_half = stage < shape.stages / 2;
  const int depth = first_half ? stage : shape.stages - 1 - stage;
  return write(DualWriter(first_half ? 0 : 1, 2), depth, shape.stages / 2, shape.microbatches / 2);
}

std::vector<Pass> dual_pipe_v_order(const PipelineShape& shape, int stage) {
  return write(DualWriter(0, 1), stage, shape.stages, shape.microbatches);
}

}  // namespace mirfak
