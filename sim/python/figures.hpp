#pragma once

namespace mirfak::python {

// What a key of a simulation's result means, with its unit: for help(). Error(internal) for a key that has no meaning.
const char* meaning_of(const char* key);

}  // namespace mirfak::python
