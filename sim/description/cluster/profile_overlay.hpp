#pragma once

#include "base/document.hpp"

#include <string>

namespace mirfak {

// Returns the profile `name`, which states `like` another one, completed: what `own` leaves out comes from `other`, key
// by key, also within sections. A figure of `own` may be a plain number, whose source is then the file itself. Sources
// of `other` that are still used say whose they are ("as b300: ..."). Places are those of the file that states a value.
// Error(input) if `other` is like another profile itself.
Document completed_profile(const Document& own, const std::string& name, const Document& other);

}  // namespace mirfak
