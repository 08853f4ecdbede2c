#pragma once

#include "base/document.hpp"
#include "strategy/framework.hpp"

#include <functional>

namespace mirfak {

// The framework that the value of `like` names.
using InheritedFramework = std::function<Framework(const Node& like)>;

// Reads a framework file (hw_profiles/frameworks/README.md), strictly: an unknown key, a wrong type and a value out of
// its range are errors, Error(input) at the place of the fault. The framework is called as the file is. What the file
// leaves out is that of the framework it is like, else the default.
//
// A value that a file states keeps no source that another file gave: in a group whose source is inherited, it is noted
// with the file's own.
Framework read_framework(const Document& document, const InheritedFramework& inherited);

}  // namespace mirfak
