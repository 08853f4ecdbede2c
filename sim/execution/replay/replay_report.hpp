#pragma once

#include "replay/straggler_analysis.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>

namespace mirfak {

// Output of `mirfak replay`. `question`: the what-if in words; empty: none. `notes`: sentences.
std::string replay_text(const Replay& replay, const StragglerAnalysis& analysis, const std::string& question,
                        std::span<const std::string> notes);
nlohmann::ordered_json replay_json(const Replay& replay, const StragglerAnalysis& analysis, const std::string& question,
                                   std::span<const std::string> notes, double wall_time_s);

}  // namespace mirfak
