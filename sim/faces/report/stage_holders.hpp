#pragma once

#include "program/job.hpp"

#include <string>

namespace mirfak {

// Returns the nodes that hold each stage, for clusters of several types: a row for the stages of replicas that behave
// alike, with the nodes by their numbers in the order of cluster.nodes. Empty for clusters of one type.
std::string stage_holders_text(const Job& job);

}  // namespace mirfak
