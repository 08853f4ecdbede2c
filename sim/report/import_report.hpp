#pragma once

#include "import/imported_job.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// What became of every setting of the files, line by line, what is assumed, what stands in the way, and the scenario.
std::string import_text(const ImportedJob& job);
nlohmann::ordered_json import_json(const ImportedJob& job);

}  // namespace mirfak
