#pragma once

#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace mirfak {

// What all layers of a model take for one microbatch, forward and backward, if none of them is recomputed: the least
// that any strategy with such blocks needs, at far less work than pricing all blocks. May be used by several threads at
// once.
class LayerBound {
 public:
  // Of one device.
  struct Terms {
    Picoseconds device = 0;
    double energy_j = 0;   // above that of waiting
    double kernels_s = 0;  // of the compute stream alone
  };

  explicit LayerBound(const Job& job);
  // `job`: one for which these layers are sharded alike. Times at the highest clock that devices hold whatever they
  // run, energies at the lowest that a mix of these layers' kernels settles at.
  Terms on(const Job& job, const StageCosts& costs);

 private:
  Terms price(const Job& job, StageCosts costs) const;

  // Each kind of layer, and how many the model has.
  std::vector<std::pair<PartitionedBlock, int>> kinds_;
  std::mutex mutex_;
  std::map<BodyCache::Place, Terms> known_;
};

}  // namespace mirfak
