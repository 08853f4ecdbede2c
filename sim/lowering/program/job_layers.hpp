#pragma once

#include "model/model_spec.hpp"
#include "program/job.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Properties in which layers of a job can differ. Equal layers share one sharded block.
struct JobLayer {
  LayerKind kind;
  bool narrow = false;  // the layer's linear layers run in the narrow format of the precision recipe

  friend bool operator==(const JobLayer&, const JobLayer&) = default;
};
JobLayer job_layer(const Job& job, std::int64_t layer);
// The different layers of a job, each once, in the order of their first occurrence.
std::vector<JobLayer> job_layers(const Job& job);

}  // namespace mirfak
