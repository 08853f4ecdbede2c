#pragma once

#include "validation/own_runs.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace mirfak {

// What a user's own runs say of a node type: its time factors, every run as it was predicted by the profiles, by the
// other runs and by all, and the rows that could not be used with their reasons (from `runs`, all of the table).
std::string own_runs_text(const OwnRunsFit& fit, std::span<const ValidatedRun> runs);
nlohmann::ordered_json own_runs_json(const OwnRunsFit& fit, std::span<const ValidatedRun> runs);

}  // namespace mirfak
