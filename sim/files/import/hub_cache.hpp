#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace mirfak {

// Returns the config.json of a model that is on this machine: in the folder `name`, absolute or below the working
// folder ("./out/checkpoint-500"), or among the models that Hugging Face's programs have downloaded ("org/model"), at
// the revision that `main` was when it was downloaded. nullopt: none, or this thread may not read it (named_files.hpp).
//
// The downloads lie as huggingface_hub lays them out (constants.py; file_download.py, repo_folder_name()): below
// $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub, the first that is set, in
// models--org--model/snapshots/COMMIT, with the commit in refs/main.
std::optional<std::filesystem::path> downloaded_configuration(std::string_view name);

}  // namespace mirfak
