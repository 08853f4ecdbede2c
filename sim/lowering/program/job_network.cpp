#include "program/job_network.hpp"

#include <vector>

namespace mirfak {

CommunicationGroup communication_group(const Job& job, std::span<const int> ranks) {
  if (!job.part) return communication_group(job.cluster, ranks);
  std::vector<int> devices;
  devices.reserve(ranks.size());
  for (const int rank : ranks) devices.push_back(job.device_of(rank));
  return communication_group(job.network(), devices);
}

DevicePlace network_place(const Job& job, int rank) { return job.network().place_of(job.device_of(rank)); }

int leaf_of(const Job& job, int rank) { return leaf_of(job.network(), job.device_of(rank)); }

}  // namespace mirfak
