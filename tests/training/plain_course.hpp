#pragma once

#include "training/run.hpp"

#include <cstdint>

namespace mirfak::test {

inline constexpr double kDay = 86400;

// A training of `iterations` of `iteration_s` on nodes that fail `rate_per_node_day` times, each mended at once.
TrainingCourse plain_course(std::int64_t iterations, double iteration_s, int nodes, double rate_per_node_day,
                            CheckpointTier storage, double restart_s);

}  // namespace mirfak::test
