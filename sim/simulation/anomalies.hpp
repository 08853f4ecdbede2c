#pragma once

#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Cases in which more of something makes an iteration longer, or recomputation needs more memory: five kinds, each with
// its bound (README). Bounds are of one job as it is; README has why they hold.

// Devices that wait less get hotter and settle at a lower clock: so many times as long, at most, may an iteration be
// because host or network are faster. 1: no clock depends on waiting.
double clock_bound(const Simulation& simulation);

// Collectives that run beside passes are cut into buckets and hold multiprocessors: by so many seconds, at most, an
// iteration is longer than with all of them behind the passes. 0: none runs beside passes.
double overlap_bound_s(const Simulation& simulation);

// Orders that are chosen by how long passes or kernels take: so many times as long, at most, as with any other choice
// may what they order be. 1: no order depends on times.
double order_bound(const Simulation& simulation);

// Layers that run again need room for results on their way: by so many bytes, at most, a stage's peak is above that
// without recomputation.
double recomputation_bound_bytes(const Simulation& simulation);

// All that hold of a job, as sentences.
std::vector<std::string> anomalies_of(const Simulation& simulation);

// Says why `after` takes longer than `before` though its cluster has more of something: the kind, as half a sentence.
std::string why_longer(const Simulation& before, const Simulation& after);

}  // namespace mirfak
