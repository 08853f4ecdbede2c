#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Megatron-Bridge's ConfigContainer in YAML: a resolved one, overrides of a recipe, or the matrix of performance
// settings (perf_matrix), in which ImportContext::launch chooses the entry.
bool is_megatron_bridge_yaml(const ImportFile& file);
ImportDraft read_megatron_bridge_yaml(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kMegatronBridgeYaml = {
    "megatron-bridge-yaml", "Megatron-Bridge's ConfigContainer: resolved, overrides of a recipe, or perf_matrix",
    is_megatron_bridge_yaml, read_megatron_bridge_yaml};

// Reads settings of Megatron-Bridge, with sections and names of a ConfigContainer, from any source.
// `model`: a name of models/ if the settings do not state the model; `why`: how the name is known.
ImportDraft import_megatron_bridge(std::vector<Setting> settings, const Location& where, const ImportContext& context,
                                   std::string_view model = {}, std::string_view why = {});

}  // namespace mirfak
