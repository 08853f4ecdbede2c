#pragma once

#include "trace/trace_comparison.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// For people: the iteration, why it differs, times by kind, stage and rank, and the `worst` operators.
std::string comparison_text(const TraceComparison& comparison, int worst);

// Keys: predicted, measured (files), tasks, iteration (predicted, measured in seconds, error), kernels and operators
// (n, mape, median_ape, p90_ape), causes, kinds, names, stages, ranks, critical_path.
nlohmann::ordered_json comparison_json(const TraceComparison& comparison);

// A row per task: what it is, when it ran in either, by how much its length is off.
std::string comparison_csv(const TraceFile& predicted, const TraceFile& measured);

}  // namespace mirfak
