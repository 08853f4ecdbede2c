#pragma once

#include "network/routes.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// What a program's communication may have to share.
struct SharedNetwork {
  bool ports = false;        // each rank's share of its node's network ports
  Routes* routes = nullptr;  // links between switches; null: they have room for all that the ports send
};

// Adds links to a program and says what its transfers and collectives take of them (Program::traffic_of): what a rank
// sends of its share of the ports, each way, and every flow of every group of the ranks that it stands for of the links
// between switches. Links that cannot be short of capacity, whatever runs at the same time, are left out; of those that
// all activities load alike there is one. So a program whose network suffices has none.
//
// In a folded program a rank stands for others, which act when it does: links between switches carry what all of these
// send.
void share_network(Program& program, const RankGroups& groups, const Job& job, std::span<const StagePlan> plans,
                   const SharedNetwork& network, bool folded);

}  // namespace mirfak
