#pragma once

#include "base/error.hpp"

#include <nanobind/nanobind.h>

namespace mirfak::python {

// Registers the translation of errors into the exceptions of mirfak/errors.py, by their kind, with their place.
void translate_errors();

// Raises `error` with its words unchanged: names of options are not replaced by names of arguments.
[[noreturn]] void raise_as_it_is(const Error& error);

}  // namespace mirfak::python
