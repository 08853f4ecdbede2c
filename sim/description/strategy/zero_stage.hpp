#pragma once

#include "strategy/framework.hpp"

namespace mirfak {

// State that a ZeRO stage divides over the ranks that share a sharded copy (arXiv 1910.02054, figure 1).
struct ZeroStage {
  bool state = false;      // optimizer state is sharded, from stage 1 on
  bool gradients = false;  // accumulated gradients are sharded, from stage 2 on
  // Parameters are sharded outside the passes that need them: stage 3, in some frameworks stage 2.
  bool parameters = false;
  bool until_backward = false;  // parameters are also sharded between a forward pass and its backward pass: stage 3
  bool all_reduces_gradients = false;  // every rank reduces all gradients, although it updates only its shard
};
ZeroStage zero_stage(const Framework& framework, int zero);

}  // namespace mirfak
