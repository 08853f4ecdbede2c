#include "jobs_on_leaves.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mirfak::test {

Cluster leaves_of_four(int nodes, double oversubscription) {
  return nodes_on("{type: fat-tree, leaf_ports: 32, oversubscription: " + std::to_string(oversubscription) + "}",
                  nodes);
}

Job job_on(const Cluster& cluster, int layers, int pipeline, const std::function<bool(int)>& takes) {
  std::vector<int> devices;
  for (int device = 0; device < cluster.gpus(); ++device) {
    if (takes(cluster.place_of(device).node)) devices.push_back(device);
  }
  const int nodes = static_cast<int>(devices.size()) / 8;
  Strategy s = sized(8, nodes / pipeline, pipeline);
  s.overlap_grad_reduce = true;
  Job job = small_job(layers, nodes, s, 4 * s.data);
  NodeAllotment own = cluster.groups()[0];
  own.count = nodes;
  job.cluster = Cluster({own}, cluster.fabric());
  job.part = std::make_shared<const ClusterPart>(ClusterPart{cluster, devices});
  return job;
}

}  // namespace mirfak::test
