#pragma once

#include <nanobind/nanobind.h>
#include <nlohmann/json_fwd.hpp>

namespace mirfak::python {

// Converts JSON to dictionaries, lists, numbers, texts, True, False and None.
nanobind::object to_python(const nlohmann::ordered_json& json);

}  // namespace mirfak::python
