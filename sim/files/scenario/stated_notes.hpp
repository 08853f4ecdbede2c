#pragma once

#include "base/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Reads the list `notes` of a scenario: sentences on what the scenario leaves out, which every report on it repeats.
// mirfak import writes them. Error(input) for another form.
std::vector<std::string> read_notes(const std::optional<Node>& notes);
// Returns the notes of a scenario that was read before.
std::vector<std::string> stated_notes(const Document& scenario);

}  // namespace mirfak
