#pragma once

#include "program/replica_classes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Returns every way to give `microbatches` to replicas such that the replicas of one class have equally many, at least
// one each. A way lists the microbatches of one replica, class by class. If there are too many classes to try all ways,
// only the even way is returned, if the microbatches divide.
std::vector<std::shared_ptr<const std::vector<int>>> microbatch_shares(std::span<const ReplicaClass> classes,
                                                                       std::int64_t microbatches);

}  // namespace mirfak
