#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Whether products in this precision, or collectives between the GPUs of a node, are priced by tables of other
// hardware.
bool borrows_products(const GpuSpec& gpu, Precision precision);
bool borrows_collectives(const NodeHardware& node);

// What of a job's hardware has no measured table of its own, whose figures stand in for it, and by how much of its time
// an iteration may be off for that: a sentence each, once per GPU and link. Errors are 90th percentiles of single
// products, so that an iteration of many kinds of them is rather nearer. Empty: all tables that matter are the
// hardware's own.
std::vector<std::string> borrowed_figures(const Job& job, const IterationResult& result);

}  // namespace mirfak
