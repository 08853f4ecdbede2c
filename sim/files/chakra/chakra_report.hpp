#pragma once

#include "chakra/chakra_times.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>

namespace mirfak {

// Output of `mirfak replay` for Chakra traces. `notes`: sentences.
std::string chakra_text(const ChakraTimes& times, std::span<const std::string> notes);
nlohmann::ordered_json chakra_json(const ChakraTimes& times, std::span<const std::string> notes, double wall_time_s);

}  // namespace mirfak
