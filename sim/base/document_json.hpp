#pragma once

#include "base/document.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Returns a document's value as JSON. An unquoted word that reads as a number or truth value becomes that value.
nlohmann::ordered_json document_json(const Value& value);

}  // namespace mirfak
