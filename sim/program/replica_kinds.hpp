#pragma once

#include "program/network_loads.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// The data-parallel replicas that a rank of a folded program stands for, ascending.
std::vector<int> replicas_of(const Program& folded, std::span<const StagePlan> plans, const ProgramRank& rank);

// Tells the replicas of a folded program apart whose messages meet others on links that may be short. Returns
// Program::kind_of_replica: replicas of one class and number take the same time, whatever the links do to them. Empty:
// all of a class do. nullopt: ranks of a team differ, so that none can stand for the others.
//
// Groups of ranks, ranks and links are coloured, and colours divided until no neighbours of equal colours differ
// (colour refinement). Max-min fair shares are unique, so they are equal within colours (Bertsekas and Gallager, *Data
// Networks*, section 6.5.2): what acts together goes on together.
std::optional<std::vector<std::uint32_t>> replica_kinds(const Program& folded, const Job& job,
                                                        std::span<const StagePlan> plans, Routes& routes,
                                                        std::span<const NetworkLoads::Wire> may_be_short);

}  // namespace mirfak
