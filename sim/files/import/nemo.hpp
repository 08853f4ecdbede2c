#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// YAML of NeMo 1.x, as NeMo-Framework-Launcher has it: trainer, exp_manager and model, with OmegaConf's references.
bool is_nemo_yaml(const ImportFile& file);
ImportDraft read_nemo_yaml(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kNemoYaml = {
    "nemo-yaml", "YAML of NeMo 1.x and its launcher: trainer, model, exp_manager", is_nemo_yaml, read_nemo_yaml};

}  // namespace mirfak
