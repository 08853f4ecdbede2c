#pragma once

#include "plan/search.hpp"

#include <vector>

namespace mirfak::alpa {

// Returns true if a strategy is in the space and keeps all rules, those of the user included.
bool may_run(const Job& job, const SearchSpec& spec, const Strategy& strategy);

// Returns the strategies that differ from `strategy` in one property that the space leaves open, each once: the
// microbatch, sequence parallelism, recomputation, the state (ZeRO, overlap with passes and the place of the
// optimizer), the layers of two consecutive stages; if stages are alike also the schedule, chunks, experts, and groups
// of twice or half the size.
std::vector<Strategy> neighbours(const Job& job, const SearchSpec& spec, const Strategy& strategy);

}  // namespace mirfak::alpa
