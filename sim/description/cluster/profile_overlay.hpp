#pragma once

#include "base/document.hpp"

#include <string>

namespace mirfak {

// Returns the profile `name`, which states `like: other`, completed: keys that `own` leaves out, also those within
// sections, come from `other`. A figure of `own` may be a plain number, whose source is then the file itself. Sources
// of `other` that are still used name their owner ("as b300: ..."). Places are those of the file that states a value.
// Error(input) if `other` is like another profile itself.
Document completed_profile(const Document& own, const std::string& name, const Document& other);

}  // namespace mirfak
