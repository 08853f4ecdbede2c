#pragma once

#include "program/communication_classes.hpp"
#include "program/replica_teams.hpp"
#include "program/replica_writer.hpp"
#include "program/stage_work.hpp"
#include "schedule/placement.hpp"

#include <deque>

namespace mirfak {

// Writes the tasks that follow the last passes of an iteration: reductions of gradients that have not run during
// passes, over data-parallel replicas, tensor ranks and the two stages that hold the word embedding; the norm of all
// gradients; the optimizer steps; and the gathers of parameters after them. `work`: one entry for each plan.
void write_step(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                const Placement& placement, const std::deque<StageWork>& work, ReplicaTeams& teams,
                CommunicationClasses& communication, ReplicaWriter& data);

}  // namespace mirfak
