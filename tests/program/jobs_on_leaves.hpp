#pragma once

#include "job_fixture.hpp"

#include <functional>

namespace mirfak::test {

// `nodes` DGX A100 on leaves of four nodes.
Cluster leaves_of_four(int nodes, double oversubscription);

// A GPT on the nodes of a cluster of which `takes` says so: replicas over all of them, gradients overlapped.
Job job_on(const Cluster& cluster, int layers, int pipeline, const std::function<bool(int)>& takes);

inline bool lower_half(int node) { return node < 8; }  // of sixteen
inline bool upper_half(int node) { return node >= 8; }
inline bool even(int node) { return node % 2 == 0; }
inline bool odd(int node) { return node % 2 == 1; }

}  // namespace mirfak::test
