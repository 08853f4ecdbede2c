#pragma once

#include "scenario/scenario_sources.hpp"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace mirfak::serve {

// Returns the names that a scenario may use, for the page's form:
// `models`: name, parameters, layers, max_sequence; `nodes`: name, title, gpus, gpu, memory_bytes, usd_per_gpu_hour
// (null: no price is known); `frameworks`, `schedules`: name, description; `schema`: the JSON Schema of a scenario;
// `units`: as units_json(); `example`: the text of a scenario to begin with. `data`: holds scenarios/. Error(input) for
// data that cannot be read.
nlohmann::ordered_json catalogue_json(const ScenarioSources& sources, const std::filesystem::path& data);

}  // namespace mirfak::serve
