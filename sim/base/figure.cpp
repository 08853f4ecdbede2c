#include "base/figure.hpp"

#include <fmt/format.h>

namespace mirfak {

std::string meaning_with_unknown(const FigureInfo& figure, const char* nothing) {
  if (figure.unknown.empty()) return figure.meaning;
  return fmt::format("{} {}: {}.", figure.meaning, nothing, figure.unknown);
}

}  // namespace mirfak
