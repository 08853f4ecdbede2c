#pragma once

#include "base/document.hpp"
#include "scenario/scenario_sources.hpp"
#include "simulation/power_grid.hpp"

#include <nanobind/nanobind.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::python {

// A scenario, a search or a sweep as Python passes it.
struct Input {
  std::string text;  // YAML or JSON, or the path of a file with either
  bool is_file = false;
  std::vector<std::string> overrides;  // "key=value"
  std::string data;                    // the folder that holds models/ and hw_profiles/

  // Returns the document with the overrides applied. Errors as of Document, and for a capture, which says nothing of
  // nodes.
  Document document() const;
};

// Returns the index of `name` in `names`. Error(input) if it is not among them: "precision: expected bf16 or fp8, found
// 'bf61'".
std::size_t choice_of(std::string_view what, const std::string& name, const std::vector<std::string>& names);

// Checks the length of the intervals of power over time: Error(input) naming resolution_s.
void check_power_resolution(double seconds, const PowerResolutions& resolutions);

void add_input(nanobind::module_& module);

// Returns the sources of scenarios in this folder. They are kept from call to call, so that hardware and frameworks are
// read once; after forget_sources() they are read again.
std::shared_ptr<const ScenarioSources> sources_of(const std::filesystem::path& data);
void forget_sources();

}  // namespace mirfak::python
