#include "page/units_json.hpp"

#include "base/units.hpp"
#include "simulation/figures.hpp"
#include "training/training_figures.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json units_json() {
  Json out = {
      {"names", Json::object()}, {"times", Json::array()}, {"words", Json::object()}, {"labels", Json::object()}};
  for (std::size_t i = 0; i < kNumberOfUnits; ++i) {
    const UnitNames names = names_of(static_cast<Unit>(i));
    if (names.names.empty()) continue;
    Json& of = out["names"][std::string(name_of(static_cast<Unit>(i)))];
    of = {{"size", names.size}, {"step", names.step}, {"names", Json::array()}};
    for (const std::string_view name : names.names) of["names"].push_back(name);
  }
  for (const TimeUnit& unit : time_units()) out["times"].push_back({unit.least, unit.seconds, unit.name});
  for (const UnitWord& word : unit_words()) out["words"][std::string(word.word)] = name_of(word.unit);
  for (const TrainingFigure& figure : training_figures()) out["labels"][figure.key] = figure.label;
  for (const IterationFigure& figure : iteration_figures()) out["labels"][figure.key] = figure.label;
  return out;
}

}  // namespace mirfak
