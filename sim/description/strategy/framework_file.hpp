#pragma once

#include "base/document.hpp"
#include "strategy/framework.hpp"

#include <functional>

namespace mirfak {

// Returns the framework that the value of the key `like` names.
using InheritedFramework = std::function<Framework(const Node& like)>;

// Reads a framework (hw_profiles/frameworks/README.md), strictly: an unknown key, a wrong type and a value out of its
// range are Error(input) at the place of the fault. A framework that is a whole file has the file's name; a framework
// that a scenario states itself is called, for example, "megatron-core (changed)". A key that is left out has the value
// of the framework named by `like`, or else the default.
//
// A value that a file states never keeps the source of another file: in a group whose source is inherited, the value
// gets a note with the source of its own file.
Framework read_framework(const Node& root, const InheritedFramework& inherited);

}  // namespace mirfak
