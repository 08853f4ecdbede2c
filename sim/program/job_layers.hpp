#pragma once

#include "model/model_spec.hpp"
#include "program/job.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// What tells a layer of a job from its other layers. Equal layers share one sharded block.
struct JobLayer {
  LayerKind kind;
  bool narrow = false;  // its linear layers run in the narrow format of the precision recipe

  friend bool operator==(const JobLayer&, const JobLayer&) = default;
};
JobLayer job_layer(const Job& job, std::int64_t layer);
// Those that the job has, each once, in the order of their first layers.
std::vector<JobLayer> job_layers(const Job& job);

}  // namespace mirfak
