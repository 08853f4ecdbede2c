#include "schedule/looped_orders.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Returns the n-th forward (or backward) pass of a stage with several chunks: a group of microbatches goes through
// chunk 0, then the same group through chunk 1, ...; backward passes take the chunks in reverse. With one chunk, n is
// the microbatch. Source: Megatron-LM's get_model_chunk_id, arXiv 2104.04473, section 2.2.
Pass nth_pass(const PipelineShape& shape, Pass::Kind kind, int n) {
  const int per_round = shape.group * shape.chunks;
  const int chunk = n % per_round / shape.group;
  const int microbatch = n / per_round * shape.group + n % shape.group;
  return {kind, is_forward(kind) ? chunk : shape.chunks - 1 - chunk, microbatch};
}

// Returns `warmup` forward passes, then forward and backward passes in turn, then the remaining backward passes.
std::vector<Pass> alternate(const PipelineShape& shape, int warmup) {
  const int total = shape.microbatches * shape.chunks;
  warmup = std::min(warmup, total);
  std::vector<Pass> order;
  order.reserve(static_cast<std::size_t>(2 * total));
  for (int n = 0; n < warmup; ++n) order.push_back(nth_pass(shape, Pass::Kind::forward, n));
  for (int n = warmup; n < total; ++n) {
    order.push_back(nth_pass(shape, Pass::Kind::forward, n));
    order.push_back(nth_pass(shape, Pass::Kind::backward, n - warmup));
  }
  for (int n = total - warmup; n < total; ++n) order.push_back(nth_pass(shape, Pass::Kind::backward, n));
  return order;
}

int interleaved_warmup(const PipelineShape& shape, int stage) {
  return (shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.group;
}

}  // namespace

// GPipe: all forward passes, then all backward passes.
std::vector<Pass> gpipe_order(const PipelineShape& shape, int /*stage*/) {
  std::vector<Pass> order;
  for (int m = 0; m < shape.microbatches; ++m) order.push_back({Pass::Kind::forward, 0, m});
  for (int m = 0; m < shape.microbatches; ++m) order.push_back({Pass::Kind::backward, 0, m});
  return order;
}

// PipeDream-Flush: a stage holds at most as many microbatches as there are stages from it to the last one.
std::vector<Pass> one_forward_one_backward_order(const PipelineShape& shape, int stage) {
  return alternate(shape, shape.stages - stage - 1);
}

// Interleaved 1F1B: each stage has several chunks, which shortens warm-up and drain by their number.
std::vector<Pass> interleaved_order(const PipelineShape& shape, int stage) {
  return alternate(shape, interleaved_warmup(shape, stage));
}

// One more forward pass than interleaved 1F1B makes the two passes of every turn independent of each other.
std::vector<Pass> combined_order(const PipelineShape& shape, int stage) {
  const int total = shape.microbatches * shape.chunks;
  const int warmup = std::min(interleaved_warmup(shape, stage) + 1, total);
  std::vector<Pass> order = alternate(shape, warmup);
  for (int i = warmup; i < 2 * total - warmup; i += 2) order[static_cast<std::size_t>(i)].with_next = true;
  return order;
}

}  // namespace mirfak
