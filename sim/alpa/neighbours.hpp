#pragma once

#include "plan/search.hpp"

#include <vector>

namespace mirfak::alpa {

// Whether a strategy is one of the space and keeps all rules, the user's included.
bool may_run(const Job& job, const SearchSpec& spec, const Strategy& strategy);

// The strategies that differ from this one in one thing that the space leaves open, each once: the microbatch,
// sequence parallelism, what is recomputed, the state (ZeRO with what hides behind passes and the optimizer's place),
// the layers of two stages in a row; where stages are alike also the schedule, chunks, experts, and groups twice or
// half as large.
std::vector<Strategy> neighbours(const Job& job, const SearchSpec& spec, const Strategy& strategy);

}  // namespace mirfak::alpa
