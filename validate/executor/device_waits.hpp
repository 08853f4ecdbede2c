#pragma once

#include "executor/rank_plan.hpp"

#include <cstdint>
#include <vector>

namespace mirfak::measure {

// True if the host runs the task, not a stream of the device.
bool on_host(const RankPlan& plan, const RankTask& task);

// Tasks of other queues of the device for whose end a task's stream must wait, by task of a plan.
using DeviceWaits = std::vector<std::vector<std::uint32_t>>;

// Two ways to make streams wait for the tasks that run on the host, of which the device does not know.
enum class HostWaits : std::uint8_t {
  by_host,     // the host waits itself, before it hands the next task on: nothing is left for streams
  by_streams,  // the host hands all tasks on at once: what it would have handed on later waits for what the host would
               // have waited for by then
};

// Returns the tasks that each stream must still wait for, leaving out those that an earlier wait of it covers.
DeviceWaits device_waits(const RankPlan& plan, HostWaits host);

}  // namespace mirfak::measure
