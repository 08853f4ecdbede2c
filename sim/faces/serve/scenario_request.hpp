#pragma once

#include "base/document.hpp"
#include "import/import_formats.hpp"
#include "serve/scenario_edit.hpp"

#include <string>
#include <vector>

namespace mirfak::serve {

// File name in all places of a scenario that came in a request.
inline constexpr const char* kScenarioName = "scenario";

// The body of a request: {"scenario": TEXT of YAML, or an object, "set": {"strategy.tensor": 4, "strategy.zero": null},
// "time_limit_s": 20}; null removes a key. `set` and `time_limit_s` may be left out.
struct ScenarioRequest {
  std::string text;         // the scenario's text with the keys of `set` changed
  double time_limit_s = 0;  // 0: not stated
};

// Reads the body of a request. Error(input) for a body that is no such JSON, and for a `set` that does not fit the
// scenario.
ScenarioRequest read_scenario_request(const std::string& body);

// The body of a request with files: {"files": [{"name": "run.sh", "text": "..."}], "scenario": TEXT}; `scenario`, whose
// model a file may replace, may be left out.
struct FilesRequest {
  std::vector<ImportFile> files;
  std::string scenario;
};

// Reads such a body. Error(input) for a body that is no such JSON, without a file, or with more than 32 files.
FilesRequest read_files_request(const std::string& body);

// Returns the scenario. Error(input) as of Document, and for a scenario of several jobs.
Document document_of(const ScenarioRequest& request);

}  // namespace mirfak::serve
