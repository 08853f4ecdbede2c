#pragma once

#include "trace/trace_comparison.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Returns the comparison for people: the iteration, the causes of its error, times by kind, stage and rank, and the
// `worst` operators.
std::string comparison_text(const TraceComparison& comparison, int worst);

// Returns JSON with the keys predicted, measured (files), tasks, iteration (predicted, measured in seconds, error),
// kernels and operators (n, mape, median_ape, p90_ape), causes, kinds, names, stages, ranks, critical_path.
nlohmann::ordered_json comparison_json(const TraceComparison& comparison);

// Returns a row per task as CSV: its identity, its times in both traces, and the error of its length.
std::string comparison_csv(const TraceFile& predicted, const TraceFile& measured);

}  // namespace mirfak
