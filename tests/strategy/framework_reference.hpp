#pragma once

#include <string>

namespace mirfak::test {

// The reference of all habits as hw_profiles/frameworks/README.md must have it, from the table that the reader follows.
std::string framework_reference();

}  // namespace mirfak::test
