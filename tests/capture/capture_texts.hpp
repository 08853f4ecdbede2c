#pragma once

#include <string>
#include <vector>

namespace mirfak::test {

// Returns the text of a capture: a header for a world of `ranks`, the tables, a line for each rank, and the last line
// with the number of lines and the CRC-32. `operators`, `collectives`: entries of the tables, as JSON; `events`: the
// events of each rank, as a JSON list. There are two modules, "" and "model.layers.0".
std::string capture_text_of(const std::string& operators, const std::string& collectives,
                            const std::vector<std::string>& events);
// Returns the text with its last line, whatever the text is.
std::string with_end(std::string text);

}  // namespace mirfak::test
