#pragma once

#include "cost/kernel_model.hpp"

namespace mirfak {

// Number of experts on one device whose rows a step works on; 1: its rows are not rows of experts.
double experts_on_device(const OperatorGraph& graph, const BlockStep& step);

// Price of a scan: the sum of its kernels (scan_model.hpp). The scan counts as products if products take most of its
// time.
KernelCost price_scan(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step);

// Adds the cost of a kernel that runs after others.
void add_cost(KernelCost& sum, const KernelCost& part);

// Price of one plain kernel: launch + max(bytes / bandwidth, cycles / (multiprocessors clock)). `cycles`: cycles of a
// multiprocessor for all elements together.
KernelCost price_plain_kernel(const KernelModel& model, double bytes, double cycles, Launch launch);

// Price of an operator that runs as several plain kernels (Operator::kernels) one after another: each kernel takes
// launch + max(bytes / bandwidth, cycles / (multiprocessors clock)) of every element; a kernel marked `per_expert` is
// launched once for each expert.
KernelCost price_plain_kernels(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step,
                               Launch launch);
double launches_of_plain_kernels(const OperatorGraph& graph, const BlockStep& step);

// Price of a custom operator: launch + max(bytes / bandwidth, FLOP / peak) of a device's share of the work, which is
// its share of the operator's labels.
KernelCost price_custom(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step, Launch launch);

// Price of a kernel that runs in chunks of rows (OperatorGraph::chunks): that of a chunk, as many times. The gradient
// of a weight is added to those of earlier chunks by another kernel, or by the product itself, which then reads them.
// Casts of the weight in front of a chunk's product are part of the price of the product.
KernelCost price_chunks(const KernelModel& model, const PartitionedBlock& block, const BlockStep& step, Launch launch);
// Bytes that the cast of a product's weight moves, where chunks cast it anew; 0: there is no cast.
double cast_bytes(const OperatorGraph& graph, const BlockStep& step);
Explanation explain_chunks(const KernelModel& model, const PartitionedBlock& block, const BlockStep& step);

}  // namespace mirfak
