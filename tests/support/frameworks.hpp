#pragma once

#include "strategy/framework_catalog.hpp"
#include "support/source_root.hpp"

#include <string>
#include <vector>

namespace mirfak::test {

// The frameworks that mirfak comes with.
inline const FrameworkCatalog& frameworks() {
  static const FrameworkCatalog catalog(source_root() + "/hw_profiles");
  return catalog;
}
inline Framework framework_named(const std::string& name) { return frameworks().framework(name); }
inline std::vector<std::string> framework_names() { return frameworks().names(); }

}  // namespace mirfak::test
