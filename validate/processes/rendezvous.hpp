#pragma once

#include "processes/launch.hpp"
#include "processes/socket.hpp"

#include <vector>

namespace mirfak::measure {

// The processes of a job that have found each other.
struct Assembly {
  std::vector<Socket> links;  // on rank 0: to ranks 1, 2, ... in this order; elsewhere the only one is to rank 0
  int place = 0;              // how many of the processes of this machine come before this one
  bool one_machine = true;    // all of them run on it
};

// Rank 0 listens at JobLaunch::port of all its addresses, the others connect to it and try again until it is there.
// They say who they are first. Whoever says nothing, or something else, is left alone; a process of another job, a rank
// twice, or one that counts other ranks is refused: it ends with Error(input) that says why, and rank 0 waits on.
//
// Returns on all ranks when all of them are there; Error(internal) that says who waits for whom after
// JobLaunch::start_timeout_s, or at once where one goes away that had come.
Assembly assemble(const JobLaunch& launch);

}  // namespace mirfak::measure
