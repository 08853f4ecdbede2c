#pragma once

#include "strategy/framework.hpp"

namespace mirfak {

// What a stage of ZeRO divides over the ranks that share a sharded copy (arXiv 1910.02054, figure 1).
struct ZeroStage {
  bool state = false;                  // the optimizer's, from stage 1 on
  bool gradients = false;              // as they accumulate, from stage 2 on
  bool parameters = false;             // outside the passes that need them: stage 3, in some frameworks stage 2
  bool until_backward = false;         // ... and again between a forward pass and its backward pass: stage 3
  bool all_reduces_gradients = false;  // every rank sums all gradients, though it steps on its shard alone
};
ZeroStage zero_stage(const Framework& framework, int zero);

}  // namespace mirfak
