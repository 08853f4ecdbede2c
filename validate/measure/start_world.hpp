#pragma once

#include "processes/world.hpp"

#include <memory>
#include <string>

namespace mirfak::measure {

// Says why and ends the process with that status; `why` may be empty: then another process says it.
using EndAtOnce = void (*)(const std::string& why, int status);

// Finds the other processes of this job as its launcher meant it: see JobLaunch. Throws Error where the launcher's
// variables make no sense, and where the others do not come in time. MPI cannot be told how long to wait: where it
// takes longer than JobLaunch::start_timeout_s, `end` is called by another thread; so it is later, when a rank goes
// away or ends the job.
std::unique_ptr<World> start_world(int& count, char**& words, EndAtOnce end);

}  // namespace mirfak::measure
