#pragma once

#include "model/family_file.hpp"
#include "model/model_spec.hpp"

#include <filesystem>

namespace mirfak {

// Reads a config.json of a family that a file describes, and returns a model of the family's blocks. `type` is one of
// the family's types; `models_folder` holds the library of blocks. Throws Error(input): in the config.json for a key
// that is missing, misspelled or impossible, and for a variant that the family's blocks do not describe; in the
// family's file for a formula that cannot be computed.
ModelSpec read_family_config(const Document& document, const Family& family, const std::string& type,
                             const std::filesystem::path& models_folder);

}  // namespace mirfak
