#include "strategy/framework.hpp"

#include <algorithm>

namespace mirfak {

bool Framework::is_like(const std::string& other) const {
  return name == other || std::find(likes.begin(), likes.end(), other) != likes.end();
}

}  // namespace mirfak
