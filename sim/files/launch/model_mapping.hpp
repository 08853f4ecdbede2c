#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <filesystem>

namespace mirfak {

// Returns the mapping under a scenario's `model` that describes the same model, for scenarios that can name no file:
// what a config.json says, in mirfak's words (models/README.md). The mapping was read again, and its model has the same
// values and parameters. Error(input) at `where` for a model that states its blocks, and for any other that a mapping
// cannot describe.
Value model_mapping(const ModelSpec& model, const std::filesystem::path& models_folder, const Location& where);

}  // namespace mirfak
