#pragma once

#include "cluster/catalog.hpp"
#include "cost/range_widths.hpp"
#include "scenario/data_folders.hpp"
#include "strategy/framework_catalog.hpp"

#include <utility>

namespace mirfak {

// Sources that scenarios are read with: hardware, frameworks and the errors of predictions. Each of their files is read
// once in the life of a ScenarioSources and its copies. Usable from many threads.
struct ScenarioSources {
  explicit ScenarioSources(DataFolders of)
      : folders(std::move(of)),
        catalog(folders.hardware),
        frameworks(folders.hardware),
        ranges(read_range_widths(folders.hardware)) {}

  DataFolders folders;
  Catalog catalog;
  FrameworkCatalog frameworks;
  RangeWidths ranges;
};

}  // namespace mirfak
