#pragma once

#include "cost/kernel_model.hpp"

namespace mirfak {

// Experts whose rows a step works on, on one device; 1: its rows are not those of experts.
double experts_on_device(const OperatorGraph& graph, const BlockStep& step);

// A scan: the sum of its kernels (scan_model.hpp). The whole counts as products where these take most of its time.
KernelCost price_scan(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step);

// An operator that runs as several plain kernels (Operator::kernels), one behind the other: each launch + max(bytes /
// bandwidth, cycles / (multiprocessors clock)) of every element, and a launch for each expert where it says so.
KernelCost price_plain_kernels(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step,
                               Launch launch);
double launches_of_plain_kernels(const OperatorGraph& graph, const BlockStep& step);

// A custom operator: launch + max(bytes / bandwidth, FLOP / peak) of the share of its work that a device does which
// holds a share of its labels.
KernelCost price_custom(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step, Launch launch);

}  // namespace mirfak
