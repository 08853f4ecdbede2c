#pragma once

#include "cost/collective_model.hpp"
#include "program/job.hpp"

#include <span>

namespace mirfak {

// Places of a job's ranks on the network that the job uses. The network may be that of a larger cluster of which the
// job has a part (Job::part): consecutive nodes of the job may be in several scale-up domains and leaves.
CommunicationGroup communication_group(const Job& job, std::span<const int> ranks);
DevicePlace network_place(const Job& job, int rank);
int leaf_of(const Job& job, int rank);

}  // namespace mirfak
