#pragma once

#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Cases in which more of a resource makes an iteration longer, or recomputation needs more memory: five kinds, each
// with its bound. Bounds hold for one job as it is; the README explains why they hold.

// Returns the largest ratio by which a faster host or network can lengthen an iteration: devices that wait less get
// hotter and settle at a lower clock. 1: no clock depends on waiting.
double clock_bound(const Simulation& simulation);

// Returns the largest number of seconds by which overlapping lengthens an iteration, compared with all collectives
// after the passes: collectives in parallel with passes are cut into buckets and hold multiprocessors. 0: no collective
// overlaps passes.
double overlap_bound_s(const Simulation& simulation);

// Returns the largest ratio by which an order that is chosen by the times of passes or kernels can lengthen the ordered
// work, compared with any other choice. 1: no order depends on times.
double order_bound(const Simulation& simulation);

// Returns the largest number of bytes by which recomputation can raise a stage's peak: layers that run again need room
// for intermediate results.
double recomputation_bound_bytes(const Simulation& simulation);

// Returns all anomalies that apply to a job, as sentences.
std::vector<std::string> anomalies_of(const Simulation& simulation);

// Returns the kind of anomaly, as half a sentence, because of which `after` takes longer than `before` though its
// cluster has more of a resource.
std::string why_longer(const Simulation& before, const Simulation& after);

}  // namespace mirfak
