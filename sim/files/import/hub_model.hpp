#pragma once

#include "import/import_formats.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <string_view>

namespace mirfak {

// Takes the model that an option names by its name on the hub, or by a path that ends in such a name; the draft's
// config.json takes precedence. A model that models/ lacks is asked for.
void read_hub_model(OptionReader& options, std::string_view option, const ImportContext& context);

// Puts the tower for images that the program's options name in front of the draft's model: `rules` are the section
// `towers` of the program's facts. Returns true if an option names a tower. What mirfak cannot describe of the tower is
// an obstacle.
bool read_tower(OptionReader& options, const Value& rules, const ImportContext& context);

// True if the model that the draft's scenario has so far has a tower for images.
bool has_tower(const ImportDraft& draft, const ScenarioSources& sources);

// True if that model has none; false where nothing says the model, or the model is refused when the scenario is read.
bool lacks_tower(const ImportDraft& draft, const ScenarioSources& sources);

// Sets training.frozen of a model that has a tower for images, by the options that freeze or train its parts: `rules`
// are the section `frozen` of the program's facts. Options that freeze parts of a model without a tower have no effect.
// `of_vision`: the program or its options say that the model has a tower, which counts while nothing says the model.
// Call this function after the options of adapters are read.
void read_frozen_parts(OptionReader& options, const Value& rules, const ImportContext& context, bool of_vision);

}  // namespace mirfak
