#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Return true if products in this precision, or collectives between the GPUs of a node, are priced by tables of other
// hardware.
bool borrows_products(const GpuSpec& gpu, Precision precision);
bool borrows_collectives(const NodeHardware& node);

// Returns notes on the hardware of a job that has no measured table of its own: the hardware whose figures stand in for
// it, and the error that this may cause in the time of an iteration. One sentence for each GPU and link. Errors are
// 90th percentiles of single products, so that an iteration of many kinds of products is usually nearer. Empty: all
// tables that matter are the hardware's own.
std::vector<std::string> borrowed_figures(const Job& job, const IterationResult& result);

// Says which generation of attention kernels stands in for which, on GPUs without figures of those that run.
std::vector<std::string> attention_stand_ins(const Job& job, const IterationResult& result);

}  // namespace mirfak
