#pragma once

#include "processes/launch.hpp"
#include "processes/socket_world.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mirfak::test {

// How rank `rank` of `size` on this machine is launched, rank 0 at `port`.
measure::JobLaunch launch_of(int rank, int size, int port);

// What each rank throws, by rank, "" if nothing: all are threads of this process, and each makes a world of its own.
std::vector<std::string> in_threads(int size, const std::function<void(measure::SocketWorld&)>& body);

// How the process of a rank ended.
struct RankEnd {
  int status = -1;   // exit status; -1: by a signal
  std::string said;  // why its world said that the job is over, or what it threw
};
// The same in processes. `body` returns the exit status.
std::vector<RankEnd> in_processes(int size, const std::function<int(measure::SocketWorld&)>& body);

}  // namespace mirfak::test
