#include "scenario/preferences_section.hpp"

namespace mirfak {

namespace {

constexpr int kMaxAnswers = 64;  // to one prompt

// In the order of Reference.
const std::vector<std::string>& reference_names() {
  static const std::vector<std::string> names = {"none", "model", "adapters-off", "computed-before"};
  return names;
}

}  // namespace

const FieldTable<Preferences>& preference_fields() {
  using P = Preferences;
  using F = FieldTable<P>::Field;
  static const FieldTable<P> table = {
      F("answers", &P::answers, {1, kMaxAnswers}).required(),
      F("reference", &P::reference, {0, 0, reference_names}),
      F("mismatched", &P::mismatched, {}).if_set(),
  };
  return table;
}

void check_preferences(const Node& node, const TrainingSpec& training) {
  if (training.preferences.reference != Reference::adapters_off || training.adapters.rank > 0) return;
  const Value& section = *node.value().find("preferences");
  node.child(section, "preferences")
      .child(*section.find("reference"), "reference")
      .fail("there are no adapters that the reference could read without",
            "state training.lora, or a reference that is a model");
}

}  // namespace mirfak
