#pragma once

#include <nanobind/nanobind.h>
#include <nlohmann/json.hpp>

#include <string>

namespace mirfak::python {

// The result of a function whose callers need nothing else: the program's JSON and its text.
struct Findings {
  nlohmann::ordered_json json;
  std::string text;
};

void add_findings(nanobind::module_& module);

}  // namespace mirfak::python
