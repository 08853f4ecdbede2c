#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Experiments of AMD's Primus: modules with a framework, a configuration, a model and overrides. Files that they name
// are looked up as Primus does: configs/modules/FRAMEWORK and configs/models/FRAMEWORK in one of the folders above the
// experiment (or primus/configs there), or among the given files; files of `extends` are looked up next to the file
// that names them.
bool is_primus_yaml(const ImportFile& file);
ImportDraft read_primus_yaml(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kPrimusYaml = {
    "primus-yaml", "an experiment of AMD's Primus: modules with framework, config, model and overrides", is_primus_yaml,
    read_primus_yaml};

}  // namespace mirfak
