#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// True if a scenario's name for a model is a path.
bool is_model_path(std::string_view text);

// Returns the name in `models_folder` of a model by its name on Hugging Face's hub ("meta-llama/Llama-3.1-70B"), by the
// table names/hugging-face.yaml; nullopt: not in the table.
std::optional<std::string> model_of_hub(std::string_view name, const std::filesystem::path& models_folder);

// Returns the name on the hub ("ORGANIZATION/NAME") whose NAME is `last`, in which capital and small letters are the
// same; nullopt: no such name is in the table, or several that mean different models.
std::optional<std::string> hub_name_ending(std::string_view last, const std::filesystem::path& models_folder);

// Returns the first name on the hub of a model in `models_folder`, by the same table; nullopt: not in the table.
std::optional<std::string> hub_name_of(std::string_view model, const std::filesystem::path& models_folder);

// Loads the model that a scenario names: a name in `models_folder` ("gpt3-175b" is models/gpt3-175b.yaml) or on the hub
// (model_of_hub), in which capital and small letters are the same, or, if it
// contains '/' or ends in .yaml, .yml or .json, the path of a model file. A relative path counts from the folder of the
// asking file if `asked_at` has a line, else (an override, an argument) from the working folder. Throws Error(input):
// at `asked_at` if there is no such model, inside the model file if that file is wrong.
ModelSpec load_model(std::string_view name_or_path, const std::filesystem::path& models_folder,
                     const Location& asked_at);

// Reads a model file: mirfak's own format (models/README.md), or a Hugging Face config.json, recognized by its
// `model_type` or `architectures`. Every size is positive and bounded, and kv_heads divides heads. Throws Error(input)
// with the place of the error. Blocks that the file names are looked up in `models_folder`/blocks.
ModelSpec parse_model(const Document& document, const std::filesystem::path& models_folder);

// Reads a model of mirfak's own format that is a mapping inside another file.
ModelSpec parse_model(const Node& mapping, const std::filesystem::path& models_folder);

// Rewrites the entry for a model in a scenario (a name, a path, a mapping) so that it means the same in any file: paths
// are absolute, and a mapping states the name that it has from its file. `model`: the model that was read from the
// entry.
Value independent_model(const Node& stated, const ModelSpec& model, const std::filesystem::path& models_folder);

// Returns the names in `models_folder`, sorted. Throws Error(input) if the folder cannot be read.
std::vector<std::string> model_names(const std::filesystem::path& models_folder);

}  // namespace mirfak
