#pragma once

#include "base/document.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// A document's value as JSON: a word that is not quoted is the number or the truth value that it reads as.
nlohmann::ordered_json document_json(const Value& value);

}  // namespace mirfak
