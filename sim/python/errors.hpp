#pragma once

#include "base/error.hpp"

#include <nanobind/nanobind.h>

namespace mirfak::python {

// Errors leave as the exceptions of mirfak/errors.py, by their kind, with their place.
void translate_errors();

// Raises it with its words unchanged: names of options are not made those of arguments.
[[noreturn]] void raise_as_it_is(const Error& error);

}  // namespace mirfak::python
