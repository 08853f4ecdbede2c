#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Experiments of AMD's Primus: modules with a framework, a configuration, a model and overrides. The files that they
// name are looked up as Primus does: configs/modules/FRAMEWORK and configs/models/FRAMEWORK beside one of the folders
// above the experiment (or primus/configs there), or among the files that were given; `extends` beside the file that
// says it.
bool is_primus_yaml(const ImportFile& file);
ImportDraft read_primus_yaml(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kPrimusYaml = {
    "primus-yaml", "an experiment of AMD's Primus: modules with framework, config, model and overrides", is_primus_yaml,
    read_primus_yaml};

}  // namespace mirfak
