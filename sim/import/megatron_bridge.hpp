#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Megatron-Bridge's ConfigContainer in YAML: resolved, overrides of a recipe, or the matrix of performance settings
// (perf_matrix), of which ImportContext::launch says the place.
bool is_megatron_bridge_yaml(const ImportFile& file);
ImportDraft read_megatron_bridge_yaml(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kMegatronBridgeYaml = {
    "megatron-bridge-yaml", "Megatron-Bridge's ConfigContainer: resolved, overrides of a recipe, or perf_matrix",
    is_megatron_bridge_yaml, read_megatron_bridge_yaml};

// Settings of Megatron-Bridge, sections and names as in a ConfigContainer, however they were said.
// `model`: what the model is where they do not say it: a name of models/; `why`: how that is known.
ImportDraft import_megatron_bridge(std::vector<Setting> settings, const Location& where, const ImportContext& context,
                                   std::string_view model = {}, std::string_view why = {});

}  // namespace mirfak
