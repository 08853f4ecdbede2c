#pragma once

#include "import/imported_job.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Report of an import: the verdict on every setting of the files, line by line, assumptions, obstacles, and the
// scenario.
std::string import_text(const ImportedJob& job);
nlohmann::ordered_json import_json(const ImportedJob& job);

}  // namespace mirfak
