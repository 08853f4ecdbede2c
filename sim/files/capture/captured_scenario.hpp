#pragma once

#include "base/document.hpp"
#include "base/remembered.hpp"
#include "capture/capture.hpp"
#include "capture/operator_table.hpp"
#include "cluster/cluster.hpp"
#include "scenario/assertions.hpp"
#include "scenario/scenario_sources.hpp"
#include "strategy/framework.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// Sources that captured scenarios are read with. Captures are read once in the life of a CaptureSources and its copies.
// Usable from many threads. Error(input) as of read_operator_table().
class CaptureSources {
 public:
  explicit CaptureSources(ScenarioSources sources);

  const ScenarioSources& scenario() const { return sources_; }
  const OperatorTable& table() const { return *table_; }
  const Framework& framework() const { return framework_; }  // OperatorTable::framework
  // Error(input) as of read_capture().
  std::shared_ptr<const Capture> capture(const std::filesystem::path& file) const;

 private:
  ScenarioSources sources_;
  std::shared_ptr<const OperatorTable> table_;
  Framework framework_;
  std::shared_ptr<Remembered<std::shared_ptr<const Capture>>> captures_;
};

// A scenario that names a capture in the place of model, training and strategy (sim/files/scenario/README.md).
struct CapturedScenario {
  std::string name;   // name of the file
  Document document;  // the file as read, overrides applied
  std::shared_ptr<const Capture> capture;
  Cluster cluster;  // rank r runs on device r
  Assertions assertions;
  Value completed;                     // the scenario with every default; the capture by its absolute path and its hash
  std::string resolved;                // completed_yaml() of it: reads back as the same scenario
  std::vector<std::string> defaulted;  // keys of `resolved` that the file and the overrides leave out
};

bool names_capture(const Document& document);  // true if it is a scenario of a capture

// Reads a scenario of a capture. Error(input) at the place of the fault: for sections that a captured program has
// decided itself, a hash that the capture does not have, and factors of ranks that are not in the capture; and as of
// read_capture() and read_cluster().
CapturedScenario read_captured_scenario(const Document& document, const CaptureSources& sources);

}  // namespace mirfak
