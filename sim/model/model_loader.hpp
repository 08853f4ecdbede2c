#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Whether what a scenario calls a model is a path, not a name.
bool is_model_path(std::string_view text);

// The model that a scenario names: a name in `models_folder` ("gpt3-175b" is models/gpt3-175b.yaml), or, when it
// contains '/' or ends in .yaml, .yml or .json, the path of a model file. A relative path counts from the folder of
// the file that asks (`asked_at` has a line), or from the working folder (it has none: an override, an argument).
// Throws Error(input): at `asked_at` when there is no such model, inside the model file when that is wrong.
ModelSpec load_model(std::string_view name_or_path, const std::filesystem::path& models_folder,
                     const Location& asked_at);

// A model file: mirfak's own format (models/README.md), or a Hugging Face config.json, known by its `model_type` or
// `architectures`. Every size is positive and bounded, kv_heads divides heads. Throws Error(input) with its place.
// Blocks that the file names are looked up in `models_folder`/blocks.
ModelSpec parse_model(const Document& document, const std::filesystem::path& models_folder);

// A model of mirfak's own format that stands as a mapping inside another file.
ModelSpec parse_model(const Node& mapping, const std::filesystem::path& models_folder);

// Writes what stands for a model in a scenario (a name, a path, a mapping) so that it means the same in any file: paths
// are absolute, and a mapping says the name that it has from its file. `model`: what was read from it.
Value independent_model(const Node& stated, const ModelSpec& model, const std::filesystem::path& models_folder);

// The names in `models_folder`, sorted. Throws Error(input) when the folder cannot be read.
std::vector<std::string> model_names(const std::filesystem::path& models_folder);

}  // namespace mirfak
