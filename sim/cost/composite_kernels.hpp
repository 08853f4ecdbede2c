#pragma once

#include "cost/kernel_model.hpp"

namespace mirfak {

// A scan: the sum of its kernels (scan_model.hpp). The whole counts as products where these take most of its time.
KernelCost price_scan(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step);

// A custom operator: launch + max(bytes / bandwidth, FLOP / peak) of the share of its work that a device does which
// holds a share of its labels.
KernelCost price_custom(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step, Launch launch);

}  // namespace mirfak
