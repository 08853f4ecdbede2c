#pragma once

#include "base/document.hpp"
#include "strategy/framework.hpp"

#include <functional>

namespace mirfak {

// The framework that the value of `like` names.
using InheritedFramework = std::function<Framework(const Node& like)>;

// Reads a framework (hw_profiles/frameworks/README.md), strictly: an unknown key, a wrong type and a value out of its
// range are errors, Error(input) at the place of the fault. A framework of a whole file is called as the file is, one
// that a scenario states itself "megatron-core (changed)". What is left out is that of the framework it is like, else
// the default.
//
// A value that a file states keeps no source that another file gave: in a group whose source is inherited, it is noted
// with the file's own.
Framework read_framework(const Node& root, const InheritedFramework& inherited);

}  // namespace mirfak
