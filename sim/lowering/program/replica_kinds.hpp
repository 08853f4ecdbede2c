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
  int first = 0;  // place of the first replica in the data-parallel groups
  int count = 0;
};

// The kinds of replicas that run `plan`, ordered by their first replicas. `kind_of_replica` as in Program; empty: one
// kind.
std::vector<ReplicaKind> kinds_within(const StagePlan& plan, std::span<const std::uint32_t> kind_of_replica);

// The data-parallel replicas whose ranks a rank of a program stands for, ascending.
std::vector<int> replicas_of(const Program& program, std::span<const StagePlan> plans, const ProgramRank& rank);

// The ranks of the cluster that a rank of a program stands for, ascending.
std::vector<int> ranks_of(const Program& program, const Job& job, std::span<const StagePlan> plans,
                          const ProgramRank& rank);

// Divides the replicas of a class into kinds, in a program that is folded or has whole teams, and whose messages meet
// others on links that may be short. Returns Program::kind_of_replica: replicas with equal class and number take the
// same time, whatever the links do to them. Empty: all replicas of a class take the same time. nullopt: no team can
// stand for other teams, or no rank for its team.
//
// Groups of ranks, ranks and links are coloured, and colours are divided until no neighbours of equally coloured
// vertices differ (colour refinement). Max-min fair shares are unique, so they are equal within colours (Bertsekas and
// Gallager, *Data Networks*, section 6.5.2): activities of one colour progress alike.
std::optional<std::vector<std::uint32_t>> replica_kinds(const Program& program, const Job& job,
                                                        std::span<const StagePlan> plans, Routes& routes,
                                                        std::span<const NetworkLoads::Wire> may_be_short);

// Divides replicas into kinds where no links are short, for a program with whole teams: replicas differ in the
// perturbations of their ranks.
std::optional<std::vector<std::uint32_t>> replica_kinds(const Job& job, std::span<const StagePlan> plans);

}  // namespace mirfak
