#pragma once

#include "processes/launch.hpp"
#include "processes/socket_world.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mirfak::test {

// Returns the launch of rank `rank` of `size` on this machine, rank 0 at `port`.
measure::JobLaunch launch_of(int rank, int size, int port);

// Returns what each rank throws, by rank, "" if nothing: all are threads of this process, and each makes its own world.
std::vector<std::string> in_threads(int size, const std::function<void(measure::SocketWorld&)>& body);

// The end of a rank's process.
struct RankEnd {
  int status = -1;   // exit status; -1: by a signal
  std::string said;  // why its world said that the job is over, or what it threw
};
// Runs `body` for each rank in a process of its own. `body` returns the exit status.
std::vector<RankEnd> in_processes(int size, const std::function<int(measure::SocketWorld&)>& body);

}  // namespace mirfak::test
