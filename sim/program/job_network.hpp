#pragma once

#include "cost/collective_model.hpp"
#include "program/job.hpp"

#include <span>

namespace mirfak {

// Where ranks of a job are on the network that it uses, which may be a larger cluster's of which it has a part
// (Job::part): nodes that follow each other in the job may be of several scale-up domains and leaves.
CommunicationGroup communication_group(const Job& job, std::span<const int> ranks);
DevicePlace network_place(const Job& job, int rank);
int leaf_of(const Job& job, int rank);

}  // namespace mirfak
