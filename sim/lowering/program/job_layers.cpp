#include "program/job_layers.hpp"

#include <algorithm>

namespace mirfak {

JobLayer job_layer(const Job& job, std::int64_t layer) {
  return {kind_of_layer(job.model, layer), job.recipe().narrow()};
}

std::vector<JobLayer> job_layers(const Job& job) {
  std::vector<JobLayer> out;
  for (std::int64_t layer = 0; layer < job.model.layers; ++layer) {
    const JobLayer found = job_layer(job, layer);
    if (std::find(out.begin(), out.end(), found) == out.end()) out.push_back(found);
  }
  return out;
}

}  // namespace mirfak
