#pragma once

#include "base/document.hpp"

#include <map>
#include <string>

namespace mirfak {

// Parses a JSON text with places. Words that JSON does not have (CONFIG_BATCH_SIZE, ${stage}) are those of a template:
// each word takes its value from `words`. Error(input) at the first word that `words` lacks, and for text that is no
// JSON.
Value parse_json_file(const std::string& text, const std::string& name,
                      const std::map<std::string, std::string>& words);

}  // namespace mirfak
