#include "validation/run_scenario.hpp"

#include "validation/run_cluster.hpp"
#include "validation/run_software.hpp"

namespace mirfak {

std::string scenario_yaml_of(const MeasuredRun& run, const ModelLibrary& models) {
  return models.model_yaml_of(run) + cluster_yaml_of(run) + training_yaml_of(run) + strategy_yaml_of(run);
}

}  // namespace mirfak
