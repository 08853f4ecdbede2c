#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Reads settings of Megatron-Bridge, with sections and names of a ConfigContainer, from any source.
// `model`: a name of models/ if the settings do not state the model; `why`: how the name is known.
ImportDraft import_megatron_bridge(std::vector<Setting> settings, const Location& where, const ImportContext& context,
                                   std::string_view model = {}, std::string_view why = {});

}  // namespace mirfak
