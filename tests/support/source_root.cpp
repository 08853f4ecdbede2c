#include "support/source_root.hpp"

namespace mirfak {

const std::string& source_root() {
  static const std::string root = MIRFAK_SOURCE_DIR;
  return root;
}

}  // namespace mirfak
