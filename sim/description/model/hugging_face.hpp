#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// True if the document is a Hugging Face config.json: it has `model_type` or `architectures`.
bool is_hugging_face_config(const Document& document);

// Reads a config.json of a family that a file in families/ of `models_folder` describes, or of one of the families
// below. Keys that do not change the shape of the model are ignored; keys that do are checked, and have the family's
// defaults if they are absent. Throws Error(input), also for a model of a known family whose blocks cannot be described
// (such as OPT-350m).
ModelSpec parse_hugging_face(const Document& document, const std::filesystem::path& models_folder);

// Returns the values of `model_type` that are read without a file in families/, sorted.
std::vector<std::string> hugging_face_families();

}  // namespace mirfak
