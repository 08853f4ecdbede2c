#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <string>

namespace mirfak {

std::string model_text(const ModelSpec& model);    // "llama2-70b, 69.0 G parameters, 80 layers, hidden 8192"
std::string cluster_text(const Cluster& cluster);  // "8 x hgx-h100 (8 NVIDIA H100 SXM), rail-optimized fabric"
// Returns "16 sequences of 4096 tokens", "... packed with documents of 812 tokens on average"
std::string sequences_text(const TrainingSpec& training);
std::string offload_text(double share);     // "the optimizer on the host", "60 % of the optimizer on the host"
std::string strategy_text(const Job& job);  // "tp 8, pp 4, dp 2, 1f1b, no recomputation, ZeRO 1"

std::string notes_text(std::span<const std::string> notes);  // a section of a report; "" without notes
// Returns the notes on the figures (simulation/laws.hpp), followed by the notes on the scenario.
std::string notes_text(const Job& job, const IterationResult& result, std::span<const std::string> of_scenario);

}  // namespace mirfak
