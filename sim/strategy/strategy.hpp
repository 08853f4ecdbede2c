#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

enum class ScheduleKind { gpipe, one_forward_one_backward, interleaved };
enum class Recompute {
  none,
  selective,  // the attention core (scores, softmax, dropout, context) is recomputed: arXiv 2205.05198
  full,       // only the input of each layer is kept
};

// How a model is spread over ranks and scheduled. Plain data; 1 means "not used".
struct Strategy {
  int tensor = 1;            // tensor-parallel size (tp)
  int pipeline = 1;          // pipeline stages (pp)
  int virtual_pipeline = 1;  // chunks of each stage (vpp)
  int data = 1;              // data-parallel replicas (dp)
  int micro_batch = 1;       // sequences of a microbatch
  int microbatch_group = 0;  // interleaved schedule: microbatches of one chunk before the next; 0: `pipeline`
  ScheduleKind schedule = ScheduleKind::one_forward_one_backward;
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int zero = 0;                      // ZeRO stage: 0 or 1 (optimizer state sharded over data-parallel ranks)
  bool overlap_grad_reduce = false;  // gradients are reduced while the last backward passes run
  // Layers of each stage's chunks in the order of the model (chunk 0 of every stage, then chunk 1, ...), so
  // pipeline * virtual_pipeline entries. Empty: even.
  std::vector<int> layer_split;

  std::int64_t ranks() const { return std::int64_t{tensor} * pipeline * data; }
};

}  // namespace mirfak
