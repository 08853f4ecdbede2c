#include "program/job_layers.hpp"

#include <algorithm>

namespace mirfak {

JobLayer job_layer(const Job& job, std::int64_t layer) {
  const PrecisionRecipe& recipe = job.recipe();
  const bool kept = layer < recipe.layers_kept_first || layer >= job.model.layers - recipe.layers_kept_last;
  return {kind_of_layer(job.model, layer), recipe.narrow() && !kept};
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
