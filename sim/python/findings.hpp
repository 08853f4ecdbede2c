#pragma once

#include <nanobind/nanobind.h>
#include <nlohmann/json.hpp>

#include <string>

namespace mirfak::python {

// What a function found, where that is all that anybody asks of it: as the program's JSON and as its text.
struct Findings {
  nlohmann::ordered_json json;
  std::string text;
};

void add_findings(nanobind::module_& module);

}  // namespace mirfak::python
