#include "base/figure.hpp"

#include <fmt/format.h>

namespace mirfak {

std::string meaning_with_unknown(const FigureInfo& figure, const char* nothing) {
  if (figure.unknown.empty()) return figure.meaning;
  return fmt::format("{} {}: {}.", figure.meaning, nothing, figure.unknown);
}

std::string text_of(const FigureValue& value) {
  if (!value.known) return "not known";
  if (value.figure->truth) return value.number != 0 ? "yes" : "no";
  return format(value.number, unit_of_key(value.figure->key));
}

}  // namespace mirfak
