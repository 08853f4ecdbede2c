#pragma once

#include "validation/recorded_run.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace mirfak {

// What recorded steps say of a machine and of the host: factors, errors on the steps left out, and what is not told.
std::string recorded_run_text(const RecordedFit& fit, const std::optional<RecordedHost>& host);
nlohmann::ordered_json recorded_run_json(const RecordedFit& fit, const std::optional<RecordedHost>& host);

}  // namespace mirfak
