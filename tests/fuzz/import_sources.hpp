// Models, frameworks and facts that the readers of imported files look at.

#pragma once

#include "scenario/scenario_sources.hpp"
#include "support/source_root.hpp"

namespace mirfak {

inline const ScenarioSources& fuzz_sources() {
  static const ScenarioSources sources(DataFolders{source_root() + "/models", source_root() + "/hw_profiles"});
  return sources;
}

}  // namespace mirfak
