#pragma once

#include "base/section.hpp"
#include "simulation/iteration.hpp"

#include <cstddef>
#include <limits>
#include <optional>

namespace mirfak {

// Returns the documents of an iteration by length and number of ranks, with their passes, and how long ranks wait for
// each other; nullopt if documents take no ranks of their own (strategy.context_tokens). `most`: rows of its table.
std::optional<Section> documents_section(const Simulation& simulation,
                                         std::size_t most = std::numeric_limits<std::size_t>::max());

// Returns the table of this section, in whose rows programs read all figures. Needs Simulation::contexts.
Table documents_table(const Simulation& simulation);

}  // namespace mirfak
