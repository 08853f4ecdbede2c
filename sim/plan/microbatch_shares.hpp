#pragma once

#include "program/replica_classes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Every way to give `microbatches` to replicas so that those of one class have equally many, at least one each. Classes
// by class, the microbatches of one replica. With one class, or too many classes to try all ways: evenly, if they
// divide.
std::vector<std::shared_ptr<const std::vector<int>>> microbatch_shares(std::span<const ReplicaClass> classes,
                                                                       std::int64_t microbatches);

}  // namespace mirfak
