#pragma once

#include "import/import_formats.hpp"
#include "scenario/scenario_sources.hpp"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace mirfak::serve {

// Returns the names that a scenario may use, for the page's form:
// `models`: name, parameters, layers, max_sequence; `nodes`: name, title, gpus, gpu, memory_bytes, usd_per_gpu_hour
// (null: no price is known); `frameworks`, `schedules`: name, description; `schema`: the JSON Schema of a scenario;
// `units`: as units_json(); `examples`: name, about, text of scenarios to begin with; `start`: the text with which the
// page begins, of the files `start` (given_files.hpp) or, without files, of an example. `data`: holds scenarios/.
// Error(input) for data and files that cannot be read.
nlohmann::ordered_json catalogue_json(const ScenarioSources& sources, const std::filesystem::path& data,
                                      std::span<const ImportFile> start);

}  // namespace mirfak::serve
