#include "strategy/framework_fits.hpp"

#include "base/error.hpp"
#include "strategy/framework_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

struct Number {
  double value;

  void operator()(bool* field) const { *field = value != 0; }
  void operator()(int* field) const { *field = static_cast<int>(value); }
  void operator()(double* field) const { *field = value; }
  template <typename Other>
  void operator()(Other* /*field*/) const {
    fail_internal("a habit that is no number has a value without a source");
  }
};

void put(Framework& framework, const std::string& habit, double value) {
  for (const FrameworkOptionGroup& group : framework_options()) {
    for (const FrameworkOption& option : group.options) {
      if (fmt::format("{}.{}", group.key, option.key) == habit) std::visit(Number{value}, option.field(framework));
    }
  }
}

}  // namespace

Framework without_source(Framework framework, std::string_view source) {
  const HabitNotes notes = framework.notes;
  for (const HabitNote& note : notes) {
    const auto found = std::find_if(note.without.begin(), note.without.end(),
                                    [&](const HabitNote::LeftOut& left) { return left.source == source; });
    if (found != note.without.end()) put(framework, note.habit, found->value);
  }
  return framework;
}

}  // namespace mirfak
