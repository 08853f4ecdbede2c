#pragma once

#include <string>

namespace mirfak {

// The top of the source tree that this program was built from. A function rather than a macro on the command line of
// every source, so that ccache knows the objects of another clone.
const std::string& source_root();

}  // namespace mirfak
