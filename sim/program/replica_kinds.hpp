#pragma once

#include "program/network_loads.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Replicas of one class and one kind.
struct ReplicaKind {
  int first = 0;  // its place in the data-parallel groups
  int count = 0;
};

// The kinds of replicas that run `plan`, by their first ones. `kind_of_replica` as in Program; empty: one kind.
std::vector<ReplicaKind> kinds_within(const StagePlan& plan, std::span<const std::uint32_t> kind_of_replica);

// The data-parallel replicas whose ranks a rank of a program stands for, ascending.
std::vector<int> replicas_of(const Program& program, std::span<const StagePlan> plans, const ProgramRank& rank);

// The ranks of the cluster that a rank of a program stands for, ascending.
std::vector<int> ranks_of(const Program& program, const Job& job, std::span<const StagePlan> plans,
                          const ProgramRank& rank);

// Tells the replicas of a program apart that is folded or has whole teams, and whose messages meet others on links that
// may be short. Returns Program::kind_of_replica: replicas of one class and number take the same time, whatever the
// links do to them. Empty: all of a class do. nullopt: no team can stand for others, or no rank for its team.
//
// Groups of ranks, ranks and links are coloured, and colours divided until no neighbours of equal colours differ
// (colour refinement). Max-min fair shares are unique, so they are equal within colours (Bertsekas and Gallager, *Data
// Networks*, section 6.5.2): what acts together goes on together.
std::optional<std::vector<std::uint32_t>> replica_kinds(const Program& program, const Job& job,
                                                        std::span<const StagePlan> plans, Routes& routes,
                                                        std::span<const NetworkLoads::Wire> may_be_short);

// The same where no links are short, of a program with whole teams: replicas differ in what perturbs their ranks.
std::optional<std::vector<std::uint32_t>> replica_kinds(const Job& job, std::span<const StagePlan> plans);

}  // namespace mirfak
