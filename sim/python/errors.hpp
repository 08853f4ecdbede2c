#pragma once

#include <nanobind/nanobind.h>

namespace mirfak::python {

// Errors leave as the exceptions of mirfak/errors.py, by their kind, with their place.
void translate_errors();

}  // namespace mirfak::python
